#include "thinwire/model/block_share.hpp"

#include <gtest/gtest.h>

#include "ops/matrices.hpp"
#include "support/golden.hpp"
#include "thinwire/model/model.hpp"
#include "thinwire/tensor/tracking_resource.hpp"

namespace thinwire::model {
namespace {

using test::copy_of;
using test::random_matrix;

constexpr Index kRows = 7;
constexpr double kTolerance = 1e-5;  // fp32 in another order of sums

Model load_golden(const std::string& model) {
  Checkpoint checkpoint = open_checkpoint(test::kGoldenFolder / "models" / model);
  return Model(checkpoint.config, *checkpoint.weights, {std::pmr::new_delete_resource()});
}

/// One layer of a golden model, as a whole and in shares of some heads and some columns each.
class Shares : public testing::TestWithParam<const char*> {
 protected:
  Shares() {
    const Index heads = config_.heads, ffn = config_.ffn;
    for (const auto& [head_slice, columns] :
         {std::pair{Slice{0, heads - 1}, Slice{0, 37}}, {{heads - 1, 1}, {37, ffn - 37}}})
      shares_.emplace_back(block_, config_, head_slice, columns, std::pmr::new_delete_resource());
  }
  Index first_column(std::size_t share) const { return share == 0 ? 0 : shares_[0].width(); }

  Model model_ = load_golden(GetParam());
  const ModelConfig& config_ = model_.config();
  const Block& block_ = model_.block(1);
  std::vector<BlockShare> shares_;
  Matrix<float> rows_ = random_matrix(kRows, config_.hidden, "rows");
  Operations counted_;
};

void add(MatrixView<const float> from, MatrixView<float> to) {
  for (Index r = 0; r < to.rows(); ++r)
    for (Index c = 0; c < to.cols(); ++c) to(r, c) += from(r, c);
}

TEST_P(Shares, ProjectTheirHeadsOnly) {
  const Index hidden = config_.hidden;
  Matrix<float> query(kRows, hidden), kv(kRows, 2 * hidden);
  block_.project_query(rows_.view(), query.view(), counted_);
  block_.project_kv(rows_.view(), kv.view(), counted_);

  for (std::size_t s = 0; s < shares_.size(); ++s) {
    SCOPED_TRACE(s);
    const Index width = shares_[s].width(), begin = first_column(s);
    Matrix<float> part(kRows, width), kv_part(kRows, 2 * width);
    Operations counted;
    shares_[s].project_query(rows_.view(), part.view(), counted);
    shares_[s].project_kv(rows_.view(), kv_part.view(), counted);

    const auto expect_near = [](MatrixView<const float> ours, MatrixView<const float> whole) {
      EXPECT_LE(test::relative_difference(ours, whole), kTolerance);
    };
    expect_near(part.view(), query.view().cols(begin, width));
    expect_near(kv_part.view().cols(0, width), kv.view().cols(begin, width));
    expect_near(kv_part.view().cols(width, width), kv.view().cols(hidden + begin, width));
    EXPECT_EQ(counted, (Operations{.matmul_macs = 3 * kRows * hidden * width,
                                   .bias_elements = 3 * kRows * width}));
  }
}

TEST_P(Shares, SumUpToTheAttentionOfTheBlock) {
  const Matrix<float> attended = random_matrix(kRows, config_.hidden, "attended");
  Matrix<float> whole = copy_of(rows_.view()), ours = copy_of(rows_.view());
  Operations of_whole, of_shares, of_sum;
  block_.attention_residual(attended.view(), whole.view(), of_whole);

  Matrix<float> sum(kRows, config_.hidden), partial(kRows, config_.hidden);
  for (std::size_t s = 0; s < shares_.size(); ++s) {
    const Matrix<float> part = copy_of(attended.view().cols(first_column(s), shares_[s].width()));
    shares_[s].attention_output(part.view(), partial.view(), of_shares);
    add(partial.view(), sum.view());
  }
  block_.add_attention(sum.view(), ours.view(), of_sum);

  EXPECT_LE(test::relative_difference(ours.view(), whole.view()), kTolerance);
  EXPECT_EQ(of_shares + of_sum, of_whole);
  EXPECT_EQ(of_shares, Operations{.matmul_macs = of_whole.matmul_macs});
}

TEST_P(Shares, SumUpToTheFeedForwardLayerOfTheBlock) {
  Matrix<float> whole = copy_of(rows_.view()), ours = copy_of(rows_.view());
  Matrix<float> normed(kRows, config_.hidden), ffn(kRows, config_.ffn);
  Operations of_whole, of_parts;
  block_.finish(whole.view(), normed.view(), ffn.view(), of_whole);

  Matrix<float> sum(kRows, config_.hidden), partial(kRows, config_.hidden);
  const MatrixView<const float> input =
      block_.feed_forward_input(ours.view(), normed.view(), of_parts);
  for (const BlockShare& share : shares_) {
    Matrix<float> columns(kRows, share.ffn_columns());
    share.feed_forward(input, columns.view(), partial.view(), of_parts);
    add(partial.view(), sum.view());
  }
  block_.add_feed_forward(sum.view(), ours.view(), of_parts);

  EXPECT_LE(test::relative_difference(ours.view(), whole.view()), kTolerance);
  EXPECT_EQ(of_parts, of_whole);
}

TEST_P(Shares, AShareOfEverythingIsTheBlockBitForBit) {
  TrackingResource memory;
  const BlockShare all(block_, config_, {0, config_.heads}, {0, config_.ffn}, &memory);
  Matrix<float> whole(kRows, 2 * config_.hidden), ours(kRows, 2 * config_.hidden);

  block_.project_kv(rows_.view(), whole.view(), counted_);
  all.project_kv(rows_.view(), ours.view(), counted_);

  EXPECT_TRUE(std::ranges::equal(ours.view().elements(), whole.view().elements()));
  EXPECT_GE(memory.held_bytes(),
            4 * (4 * config_.hidden * config_.hidden + 2 * config_.hidden * config_.ffn));
}

INSTANTIATE_TEST_SUITE_P(Models, Shares,
                         testing::Values("vit-tiny", "bert-tiny", "gpt2-tiny", "vivit-tiny"));

}  // namespace
}  // namespace thinwire::model
