// Products in bf16: the same numbers whoever computes them, the same counts as fp32's.
#include <gtest/gtest.h>

#include "support/codebooks.hpp"
#include "support/golden.hpp"
#include "support/local_run.hpp"

namespace thinwire {
namespace {

using strategy::StrategyOptions;
using test::PassResult;
using test::run_pass;

/// bf16 rounds to 2^-9 of a value. Sums in another order move a few values over the border between
/// two bf16 numbers, and each of those by one unit in the last place, 2^-8 of it.
constexpr double kExact = 0x1p-8;
/// Every value rounded, in two blocks.
constexpr double kRounding = 0.05;

class InBf16 : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!ops::has_fast_bf16()) GTEST_SKIP() << "oneDNN has no bf16 instructions here";
    const auto folder = test::kGoldenFolder / "models" / GetParam();
    fp32_.emplace(test::load_model(folder));
    bf16_.emplace(test::load_model(folder, DType::bf16));
    const model::ModelConfig& config = fp32_->config();
    input_ = model::random_input(config, config.is_text() ? 23 : config.tokens, 7);
  }

  /// The strategy's results, counted and sent as in fp32.
  PassResult run_as_fp32(const char* strategy, int devices, const StrategyOptions& options,
                         const StrategyOptions& options_of_fp32) const {
    PassResult ours = run_pass(*bf16_, strategy, devices, options, input_);
    const PassResult fp32 = run_pass(*fp32_, strategy, devices, options_of_fp32, input_);
    for (std::size_t p = 0; p < ours.iterations.size(); ++p) {
      EXPECT_EQ(ours.iterations[p].operations, fp32.iterations[p].operations);
      EXPECT_EQ(ours.iterations[p].traffic.payload_bits, fp32.iterations[p].traffic.payload_bits);
      EXPECT_EQ(ours.workspace_bytes[p], fp32.workspace_bytes[p]);
    }
    return ours;
  }

  std::optional<model::Model> fp32_, bf16_;
  model::ModelInput input_;
};

TEST_P(InBf16, TheSingleDeviceIsOffByRoundingAlone) {
  const PassResult fp32 = run_pass(*fp32_, "single", 1, {}, input_);
  const PassResult bf16 = run_pass(*bf16_, "single", 1, {}, input_);

  const double difference =
      test::relative_difference(bf16.hidden.back().view(), fp32.hidden.back().view());
  EXPECT_LT(difference, kRounding);
  EXPECT_GT(difference, 1e-4);  // more than fp32 would be off
}

TEST_P(InBf16, ExactStrategiesGiveTheSingleDevicesResult) {
  const PassResult single = run_pass(*bf16_, "single", 1, {}, input_);

  for (const char* strategy : {"voltage", "tensor", "pipeline"})
    for (const int devices : {2, 3}) {
      if (devices > bf16_->config().layers && std::string_view(strategy) == "pipeline") continue;
      SCOPED_TRACE(testing::Message() << strategy << " on " << devices);
      const PassResult split = run_as_fp32(strategy, devices, {}, {});

      EXPECT_LE(test::relative_difference(split.values.view(), single.values.view()), kExact);
      EXPECT_LE(test::relative_difference(split.hidden.back().view(), single.hidden.back().view()),
                kExact);
    }
}

TEST_P(InBf16, StrategiesThatCompressDifferByRoundingAlone) {
  const StrategyOptions prism{.segments = 2};
  run_as_fp32("prism", 2, prism, prism);
  for (const char* strategy : {"astra", "trace-b", "trace-nb", "trace-2a", "trace-1b"}) {
    SCOPED_TRACE(strategy);
    const compress::CodebookUse use = test::codebook_use(strategy);
    const compress::CodebookSet of_bf16 = test::make_random_codebooks(*bf16_, use, 8);
    const compress::CodebookSet of_fp32 = test::make_random_codebooks(*fp32_, use, 8);

    run_as_fp32(strategy, 2, {.codebooks = &of_bf16}, {.codebooks = &of_fp32});
  }
}

INSTANTIATE_TEST_SUITE_P(Models, InBf16,
                         testing::Values("vit-tiny", "bert-tiny", "gpt2-tiny", "vivit-tiny"));

}  // namespace
}  // namespace thinwire
