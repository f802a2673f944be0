#include "thinwire/harness/block_rate.hpp"

#include <gtest/gtest.h>

#include "support/golden.hpp"
#include "support/local_run.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/cost/work.hpp"

namespace thinwire::harness {
namespace {

TEST(BlockRates, HaveASampleAnIterationForEveryRowCount) {
  const model::Model model = test::load_model(test::kGoldenFolder / "models/vit-tiny");
  const std::vector<Index> rows = {1, 5, model.config().tokens};
  std::vector<double> parts;

  const std::vector<BlockRate> rates =
      measure_block_rates(model, rows, {.threads = 1, .iterations = 3, .warmup = 1},
                          [&](double part) { parts.push_back(part); });

  ASSERT_EQ(rates.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rates[i].rows, rows[i]);
    EXPECT_EQ(rates[i].gflops.samples.size(), 3U);
    EXPECT_GT(rates[i].gflops.min, 0);
  }
  EXPECT_EQ(parts.size(), 4 * rows.size());
  EXPECT_DOUBLE_EQ(parts.back(), 1);
}

/// Of all blocks, for a device with `rows` of the model's tokens.
std::int64_t predicted_flops(const model::ModelConfig& config, Index rows) {
  const Operations block = cost::project_local_work(config, rows) +
                           cost::attention_work(config, config.heads, rows, config.tokens) +
                           cost::attention_output_work(config, rows) +
                           cost::finish_work(config, rows);
  return config.layers * flops(block, Convention::paper);
}

TEST(BlockRates, CountWhatTheFormulasSay) {
  for (const char* name : {"vit-tiny", "bert-tiny", "gpt2-tiny"}) {
    SCOPED_TRACE(name);
    const model::Model model = test::load_model(test::kGoldenFolder / "models" / name);
    const std::vector<Index> rows = {model.config().tokens, 3};

    const std::vector<BlockRate> rates =
        measure_block_rates(model, rows, {.iterations = 1, .warmup = 0}, [](double) {});

    for (std::size_t i = 0; i < rows.size(); ++i)
      EXPECT_EQ(rates[i].flops, predicted_flops(model.config(), rows[i]));
  }
}

TEST(BlockRates, NeedARow) {
  const model::Model model = test::load_model(test::kGoldenFolder / "models/vit-tiny");

  EXPECT_THROW(measure_block_rates(model, std::vector<Index>{0}, {}, [](double) {}), Error);
}

}  // namespace
}  // namespace thinwire::harness
