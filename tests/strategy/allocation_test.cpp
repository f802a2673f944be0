// A pass of a length that was seen before takes nothing from the heap.
#include <gtest/gtest.h>

#include <atomic>

#include "support/allocation_counter.hpp"
#include "support/codebooks.hpp"
#include "support/index_tables.hpp"

namespace thinwire {
namespace {

constexpr const char* kModels[] = {"vit-tiny", "bert-tiny", "gpt2-tiny", "vivit-tiny"};

class SteadyState : public testing::TestWithParam<const char*> {
 protected:
  /// Allocations of all devices' threads together in the passes after the second.
  ///   batch  equal inputs of a pass
  std::int64_t allocations_of(const char* strategy, int devices,
                              const strategy::StrategyOptions& options, int batch = 1) {
    const std::vector<strategy::BatchItem> items(static_cast<std::size_t>(batch), {&input_});
    std::atomic<std::int64_t> sum = 0;
    test::on_devices(devices, [&](fabric::Transport& transport) {
      const auto runner = strategy::make_strategy(strategy, model_, options,
                                                  {.device = transport.rank(),
                                                   .devices = devices,
                                                   .lengths = {input_.tokens(model_.config())},
                                                   .batch = batch});
      const auto fabric = fabric::make_fabric(transport, {});
      for (int pass = 0; pass < 5; ++pass) {
        fabric->begin_iteration();
        const std::int64_t before = test::allocations();
        runner->forward_batch(items, *fabric, [](std::size_t, const strategy::Output&) {});
        if (pass >= 2) sum += test::allocations() - before;
        fabric->end_iteration();
      }
    });
    return sum;
  }

  model::Model model_ = test::load_model(test::kGoldenFolder / "models" / GetParam());
  model::ModelInput input_ = model::random_input(
      model_.config(), model_.config().is_text() ? 23 : model_.config().tokens, 7);
};

TEST_P(SteadyState, TakesNothingFromTheHeap) {
  EXPECT_EQ(allocations_of("single", 1, {}), 0);
  EXPECT_EQ(allocations_of("voltage", 3, {}), 0);
  EXPECT_EQ(allocations_of("prism", 3, {.segments = 2}), 0);
  EXPECT_EQ(allocations_of("voltage", 3, {.payload = compress::RowFormat::int8}), 0);
  EXPECT_EQ(allocations_of("prism", 3, {.segments = 2, .payload = compress::RowFormat::fp16}), 0);
  EXPECT_EQ(allocations_of("tensor", 3, {}), 0);
  EXPECT_EQ(allocations_of("pipeline", 3, {.micro_batches = 2}), 0);
}

TEST_P(SteadyState, OfABatchTakesNothingFromTheHeap) {
  EXPECT_EQ(allocations_of("single", 1, {}, 3), 0);
  EXPECT_EQ(allocations_of("voltage", 3, {}, 3), 0);
  EXPECT_EQ(allocations_of("prism", 3, {.segments = 2}, 3), 0);
}

TEST_P(SteadyState, OfIndicesTakesNothingFromTheHeap) {
  for (const char* strategy : {"astra", "trace-b", "trace-nb"}) {
    const compress::CodebookSet codebooks = test::make_tabled_codebooks(
        model_, strategy, 3, test::codebook_use(strategy), 8, {}, std::span(&input_, 1));
    for (const auto coding : {compress::IndexCoding::fixed, compress::IndexCoding::entropy,
                              compress::IndexCoding::cross_layer})
      EXPECT_EQ(allocations_of(strategy, 3, {.codebooks = &codebooks, .index_coding = coding}), 0)
          << strategy << " " << compress::to_string(coding);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, SteadyState, testing::ValuesIn(kModels));

}  // namespace
}  // namespace thinwire
