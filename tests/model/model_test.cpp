#include "thinwire/model/model.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cstring>
#include <memory>

#include "support/golden.hpp"
#include "support/same_places.hpp"
#include "support/single_pass.hpp"
#include "thinwire/model/weight_source.hpp"

namespace thinwire::model {
namespace {

constexpr double kTolerance = 1e-4;  // golden/README: fp32 in another order of sums

Model load_golden(const std::string& model) {
  Checkpoint checkpoint = open_checkpoint(test::kGoldenFolder / "models" / model);
  return Model(checkpoint.config, *checkpoint.weights, {std::pmr::new_delete_resource()});
}

/// The first `rows` rows of ours beside those of the golden tensor.
double difference(const SafetensorsFile& golden, const std::string& name,
                  MatrixView<const float> ours, Index rows) {
  const Matrix<float> expected = test::golden_matrix(golden, name);
  return test::relative_difference(ours.rows(0, rows), expected.first(rows));
}

/// Compares a pass with the run `run` of a golden file; only `rows` rows are real.
void expect_golden(const std::string& name, const std::string& input_name, const std::string& run,
                   Index rows) {
  const SafetensorsFile golden = test::open_golden(name);
  const Model model = load_golden(name);

  const test::SinglePass pass = test::single_pass(model, test::golden_input(golden, input_name));

  ASSERT_EQ(std::ssize(pass.hidden), model.config().layers + 1);
  for (std::size_t i = 0; i < pass.hidden.size(); ++i)
    EXPECT_LT(difference(golden, fmt::format("{}.hidden.{}", run, i), pass.hidden[i].view(), rows),
              kTolerance)
        << i;
  for (std::size_t l = 0; l < pass.z.size(); ++l)
    EXPECT_LT(difference(golden, fmt::format("{}.z.{}", run, l), pass.z[l].view(), rows),
              kTolerance)
        << l;
  EXPECT_LT(difference(golden, run + ".logits", pass.logits.view(), pass.logits.rows()),
            kTolerance);
  if (golden.has(run + ".mean_pooled")) {
    EXPECT_LT(difference(golden, run + ".mean_pooled", pass.mean_pooled.view(), 1), kTolerance);
  }
}

TEST(Model, VitGivesTheGoldenValues) {
  expect_golden("vit-tiny", "input", "single", 17);
}
TEST(Model, BertGivesTheGoldenValues) {
  expect_golden("bert-tiny", "input", "single", 25);
}
TEST(Model, Gpt2GivesTheGoldenValues) {
  expect_golden("gpt2-tiny", "input", "single", 23);
}
TEST(Model, VivitGivesTheGoldenValues) {
  expect_golden("vivit-tiny", "input", "single", 9);
}
TEST(Model, PaddedBertGivesTheGoldenValuesOfRealTokens) {
  expect_golden("bert-tiny", "padded.input", "padded.single", 18);
}

TEST(Embedding, RowSlicesEqualTheWhole) {
  for (const char* name : {"vit-tiny", "bert-tiny", "gpt2-tiny", "vivit-tiny"}) {
    SCOPED_TRACE(name);
    const Model model = load_golden(name);
    const ModelInput input = test::golden_input(test::open_golden(name), "input");
    const Index tokens = input.tokens(model.config());
    const Matrix<float> whole = test::embed(model, input, {0, tokens});

    for (const Slice rows : {Slice{0, 1}, Slice{0, 4}, Slice{1, 1}, Slice{3, tokens - 4},
                             Slice{tokens - 1, 1}, Slice{5, 0}, Slice{0, 0}}) {
      const Matrix<float> part = test::embed(model, input, rows);
      for (Index r = 0; r < rows.size; ++r)
        for (Index c = 0; c < part.cols(); ++c)
          EXPECT_NEAR(part(r, c), whole(rows.begin + r, c), 1e-6) << rows.begin + r;
    }
  }
}

TEST(Embedding, SegmentsOfBertChangeTheirTokensOnly) {
  const Model model = load_golden("bert-tiny");
  ModelInput input = test::golden_input(test::open_golden("bert-tiny"), "input");
  const Matrix<float> before = test::embed(model, input, {0, 25});
  input.types.assign(25, 0);
  const Matrix<float> zeros = test::embed(model, input, {0, 25});
  input.types[24] = 1;
  const Matrix<float> after = test::embed(model, input, {0, 25});

  EXPECT_EQ(test::relative_difference(zeros.view(), before.view()), 0);
  EXPECT_EQ(test::relative_difference(after.first(24), before.first(24)), 0);
  EXPECT_GT(test::relative_difference(after.view().rows(24, 1), before.view().rows(24, 1)), 1e-3);
}

TEST(Embedding, CountsItsProductsAndNorms) {
  const Model vit = load_golden("vit-tiny"), bert = load_golden("bert-tiny");
  const ModelInput picture = test::golden_input(test::open_golden("vit-tiny"), "input");
  const ModelInput text = test::golden_input(test::open_golden("bert-tiny"), "input");
  Matrix<float> x(25, 48), patches(17, 3 * 8 * 8);
  Operations pixels, tokens;

  vit.embedding()(picture, {0, 17}, x.first(17), patches.view(), pixels);
  bert.embedding()(text, {0, 25}, x.view(), {}, tokens);

  EXPECT_EQ(pixels.matmul_macs, 16 * 192 * 48);  // the class token is no patch
  EXPECT_EQ(pixels.layer_norm_elements, 0);
  EXPECT_EQ(tokens.matmul_macs, 0);
  EXPECT_EQ(tokens.layer_norm_elements, 25 * 48);
}

TEST(Block, CountsEachFunction) {
  const Model model = load_golden("vit-tiny");
  const Block& block = model.block(0);
  constexpr Index kRows = 5, kHidden = 48, kFfn = 96;
  Matrix<float> x(kRows, kHidden), scratch(kRows, kHidden), kv(kRows, 2 * kHidden),
      ffn(kRows, kFfn);
  Operations input, query, keys, residual, finish;

  block.kv_input(x.view(), scratch.view(), input);
  block.project_query(scratch.view(), scratch.view(), query);
  block.project_kv(scratch.view(), kv.view(), keys);
  block.attention_residual(scratch.view(), x.view(), residual);
  block.finish(x.view(), scratch.view(), ffn.view(), finish);

  EXPECT_EQ(input.layer_norm_elements, kRows * kHidden);
  EXPECT_EQ(query.matmul_macs, kRows * kHidden * kHidden);
  EXPECT_EQ(keys.matmul_macs, 2 * kRows * kHidden * kHidden);
  EXPECT_EQ(residual.matmul_macs, kRows * kHidden * kHidden);
  EXPECT_EQ(residual.residual_elements, kRows * kHidden);
  EXPECT_EQ(finish.matmul_macs, 2 * kRows * kHidden * kFfn);
  EXPECT_EQ(finish.layer_norm_elements, kRows * kHidden);
  EXPECT_EQ(finish.gelu_elements, kRows * kFfn);
}

TEST(Head, ThatDoesNotApplyIsAnError) {
  const Model vit = load_golden("vit-tiny"), gpt2 = load_golden("gpt2-tiny");
  Matrix<float> x(1, 48), out(1, 96);
  Operations counted;

  EXPECT_THROW(vit.head().language_model(x.view(), out.view(), counted), Error);
  EXPECT_THROW(gpt2.head().classify(x.view(), x.view(), out.view(), counted), Error);
}

TEST(Head, NormaliseLeavesBertAlone) {
  const Model model = load_golden("bert-tiny");
  Matrix<float> x(2, 48);
  x(1, 3) = 5;
  Operations counted;

  model.head().normalise(x.view(), counted);

  EXPECT_EQ(x(1, 3), 5);
  EXPECT_EQ(counted, Operations{});
}

TEST(SumRealRows, SkipsPaddingByGlobalPosition) {
  Matrix<float> x(3, 2), sum(1, 2);
  for (Index r = 0; r < 3; ++r) x(r, 0) = static_cast<float>(r + 1), x(r, 1) = 10;
  ModelInput input;
  input.ids.resize(6);
  input.real = {1, 1, 1, 1, 0, 1};

  sum_real_rows(x.view(), 3, input, sum.view());

  EXPECT_EQ(sum(0, 0), 4);  // rows 3 and 5 of the sequence
  EXPECT_EQ(sum(0, 1), 20);
}

/// Knows what there is, and fails the test when a value is asked for.
class UnreadableSource final : public WeightSource {
 public:
  std::span<const float> values(const std::string& name, std::span<const Index>,
                                std::vector<float>&) override {
    ADD_FAILURE() << "read " << name;
    return {};
  }
  void require_all_used() const override { ADD_FAILURE() << "nothing is used when attaching"; }
  std::string fingerprint() const override {
    ADD_FAILURE() << "a fingerprint reads everything";
    return {};
  }
};

TEST(Model, AttachedModelReadsNothingAndEqualsTheWritten) {
  for (const char* name : {"vit-tiny", "bert-tiny", "gpt2-tiny", "vivit-tiny"}) {
    SCOPED_TRACE(name);
    const ModelInput input = test::golden_input(test::open_golden(name), "input");
    Checkpoint checkpoint = open_checkpoint(test::kGoldenFolder / "models" / name);
    test::SamePlaces memory(std::size_t{8} << 20);
    UnreadableSource unreadable;

    const Model written(checkpoint.config, *checkpoint.weights, {&memory, ops::Packing::write});
    memory.rewind();
    const Model attached(checkpoint.config, unreadable, {&memory, ops::Packing::attach});

    EXPECT_EQ(attached.fingerprint(), written.fingerprint());
    const Matrix<float> logits = std::move(test::single_pass(written, input).logits);
    EXPECT_EQ(
        test::relative_difference(test::single_pass(attached, input).logits.view(), logits.view()),
        0);
  }
}

TEST(Model, RandomWeightsRunEveryFamily) {
  for (const char* name : {"vit-tiny", "bert-tiny", "gpt2-tiny", "vivit-tiny"}) {
    SCOPED_TRACE(name);
    const ModelConfig config = open_checkpoint(test::kGoldenFolder / "models" / name).config;
    const auto weights = random_weights(config, 3);

    const Model model(config, *weights, {std::pmr::new_delete_resource()});
    const test::SinglePass pass = test::single_pass(model, random_input(config, config.tokens, 3));

    EXPECT_EQ(model.fingerprint(), weights->fingerprint());
    float largest = 0;
    for (const float logit : pass.logits.view().elements()) {
      ASSERT_TRUE(std::isfinite(logit));
      largest = std::max(largest, std::abs(logit));
    }
    EXPECT_GT(largest, 0);
  }
}

}  // namespace
}  // namespace thinwire::model
