#include "thinwire/compress/kv_buffer.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "compress/codebook_fixtures.hpp"
#include "ops/matrices.hpp"
#include "support/allocation_counter.hpp"
#include "thinwire/tensor/half.hpp"

namespace thinwire::compress {
namespace {

KvBuffer make_buffer(Index codewords, Index width) {
  KvBuffer buffer(codewords, width, test::heap());
  for (Index k = 0; k < codewords; ++k)
    for (Index c = 0; c < width; ++c)
      buffer.halves()(k, c) = static_cast<std::uint16_t>((k * 2654435761U + c * 40503U) & 0x7bffU);
  return buffer;
}

std::vector<std::int32_t> some_indices(Index rows, Index codewords) {
  std::vector<std::int32_t> indices;
  for (Index i = 0; i < rows; ++i)
    indices.push_back(static_cast<std::int32_t>((i * 7 + i / 3) % codewords));
  return indices;
}

TEST(KvBuffer, GatherWidensTheRowsThatAreAskedFor) {
  constexpr Index kCodewords = 13;
  for (const Index width : {1, 7, 96, 1536})
    for (const Index rows : {0, 1, 5, 99}) {
      SCOPED_TRACE(testing::Message() << rows << " rows of " << width);
      const KvBuffer buffer = make_buffer(kCodewords, width);
      const std::vector<std::int32_t> indices = some_indices(rows, kCodewords);
      Matrix<float> wide(rows, width + 2);  // rows of a longer context

      buffer.gather(indices, wide.view().cols(1, width));

      for (Index r = 0; r < rows; ++r) {
        ASSERT_EQ(wide(r, 0) + wide(r, width + 1), 0) << r;
        for (Index c = 0; c < width; ++c)
          ASSERT_EQ(wide(r, c + 1),
                    half_to_float(buffer.halves()(indices[static_cast<std::size_t>(r)], c)))
              << r << ", " << c;
      }
    }
}

TEST(KvBuffer, GatherRefusesShapesThatDoNotFit) {
  const KvBuffer buffer = make_buffer(4, 6);
  Matrix<float> rows(2, 6), narrow(2, 5);

  EXPECT_THROW(buffer.gather(std::array{0}, rows.view()), Error);
  EXPECT_THROW(buffer.gather(std::array{0, 1}, narrow.view()), Error);
}

TEST(KvBuffer, GatherAllocatesNothing) {
  const KvBuffer buffer = make_buffer(4, 96);
  Matrix<float> rows(3, 96);
  const std::vector<std::int32_t> indices = some_indices(3, 4);
  const std::int64_t before = test::allocations();

  buffer.gather(indices, rows.view());

  EXPECT_EQ(test::allocations() - before, 0);
}

TEST(FinishCodewords, LeavesThoseOfTheEmbeddingsAlone) {
  const model::Model model = test::golden_model("vit-tiny");
  const Matrix<float> codewords = test::random_matrix(5, 48, "codewords");
  Matrix<float> finished = test::copy_of(codewords.view());
  Operations counted;

  finish_codewords(model, 0, finished.view(), counted);

  EXPECT_TRUE(std::ranges::equal(finished.view().elements(), codewords.view().elements()));
  EXPECT_EQ(counted, Operations{});
}

TEST(FinishCodewords, OfManyRowsEqualsOneByOne) {
  constexpr Index kRows = 2051;  // more than are finished at once, and an odd rest
  const model::Model model = test::golden_model("bert-tiny");
  const Matrix<float> codewords = test::random_matrix(kRows, 48, "codewords");
  Matrix<float> finished = test::copy_of(codewords.view());
  Matrix<float> normed(1, 48), ffn(1, model.config().ffn);
  Operations counted, one;

  finish_codewords(model, 2, finished.view(), counted);

  for (const Index row : {Index{0}, Index{63}, Index{64}, Index{2047}, kRows - 1}) {
    Matrix<float> alone = test::copy_of(codewords.view().rows(row, 1));
    one = {};
    model.block(1).finish(alone.view(), normed.view(), ffn.view(), one);
    EXPECT_LT(test::relative_difference(finished.view().rows(row, 1), alone.view()), 1e-5) << row;
  }
  EXPECT_EQ(counted.matmul_macs, kRows * one.matmul_macs);
  EXPECT_EQ(counted.layer_norm_elements, kRows * one.layer_norm_elements);
}

TEST(ProjectCodewords, ProjectsTheBlocksInputRows) {
  for (const char* name : {"vit-tiny", "bert-tiny"}) {  // pre-norm and post-norm
    SCOPED_TRACE(name);
    const model::Model model = test::golden_model(name);
    const Matrix<float> outputs = test::random_matrix(7, 48, "outputs");
    Matrix<float> scratch(7, 48), expected(7, 96);
    Operations counted, one;
    const model::Block& block = model.block(2);
    block.project_kv(block.kv_input(outputs.view(), scratch.view(), one), expected.view(), one);

    const Matrix<float> kv = project_codewords(model, 2, outputs.view(), counted);

    EXPECT_EQ(test::relative_difference(kv.view(), expected.view()), 0);
    EXPECT_EQ(counted, one);
  }
}

}  // namespace
}  // namespace thinwire::compress
