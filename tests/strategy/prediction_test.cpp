// Counted equals predicted, as integers, and the modelled clock equals the formula, to the bit.
#include "made_up_models.hpp"
#include "predicted.hpp"

namespace thinwire {
namespace {

using compress::Buffers;
using compress::RowFormat;
using compress::Scaling;
using strategy::StrategyOptions;
using test::Setting;

constexpr const char* kModels[] = {"vit-tiny", "bert-tiny", "gpt2-tiny", "vivit-tiny"};
constexpr int kDevices[] = {1, 2, 3, 4, 6};

void expect_run_equals_prediction(const model::Model& model, Index tokens, const Setting& setting) {
  SCOPED_TRACE(test::describe(setting));
  const auto codebooks = test::codebooks_for(model, setting);
  StrategyOptions options = setting.options;
  options.codebooks = codebooks ? &*codebooks : nullptr;
  const fabric::FabricOptions fabric_options = test::unequal_devices(setting.devices);

  const test::PassResult ours =
      test::run_pass(model, setting.strategy, setting.devices, options,
                     model::random_input(model.config(), tokens, 7), 0, fabric_options);
  const cost::Prediction predicted =
      cost::predict(test::workload_of(model, setting, tokens, options.codebooks));

  for (std::size_t p = 0; p < ours.iterations.size(); ++p) {
    test::expect_counted(ours.iterations[p], predicted, p);
    EXPECT_EQ(ours.workspace_bytes[p], predicted.memory[p].activations) << "device " << p;
  }
  test::expect_times(ours.iterations, predicted, fabric_options);
  if (codebooks) {
    EXPECT_EQ(codebooks->calibration_operations(), predicted.calibration);
  }
}

class Prediction : public testing::TestWithParam<const char*> {
 protected:
  Prediction() { ops::set_threads(1); }  // tiny products gain nothing by more

  void expect_run_equals_prediction(const Setting& setting) const {
    const bool is_text = model_.config().is_text();
    thinwire::expect_run_equals_prediction(model_, is_text ? 23 : model_.config().tokens, setting);
  }

  model::Model model_ = test::load_model(test::kGoldenFolder / "models" / GetParam());
};

TEST_P(Prediction, OfEveryStrategyAndDeviceCountEqualsTheRun) {
  expect_run_equals_prediction({"single", 1});
  for (const int devices : kDevices)
    for (const char* strategy :
         {"voltage", "prism", "astra", "trace-b", "trace-nb", "trace-2a", "trace-1b"})
      expect_run_equals_prediction({strategy, devices, {.segments = 1}});
}

TEST_P(Prediction, OfSplitBlocksEqualsTheRun) {
  for (const int devices : {1, 2, 3}) {  // the tiny models have 3 heads and 3 blocks
    expect_run_equals_prediction({"tensor", devices});
    for (const int micro_batches : {1, 2, 4})
      expect_run_equals_prediction({"pipeline", devices, {.micro_batches = micro_batches}});
  }
}

TEST_P(Prediction, OfPrismVariantsEqualsTheRun) {
  for (const int devices : {2, 6})
    for (const Scaling scaling : {Scaling::off, Scaling::duplicate})
      expect_run_equals_prediction({"prism", devices, {.segments = 1, .scaling = scaling}});
  expect_run_equals_prediction({"prism", 2, {.segments = 3}});
}

TEST_P(Prediction, OfReducedPayloadsEqualsTheRun) {
  const StrategyOptions weighted{.partition = PartitionPolicy::weighted, .weights = {1, 3, 2}};
  for (const RowFormat payload : {RowFormat::fp16, RowFormat::bf16, RowFormat::int8}) {
    for (const int devices : kDevices)
      for (const char* strategy : {"voltage", "prism"})
        expect_run_equals_prediction({strategy, devices, {.segments = 1, .payload = payload}});
    StrategyOptions uneven = weighted;
    uneven.payload = payload;
    expect_run_equals_prediction({"voltage", 3, uneven});
    expect_run_equals_prediction({"voltage", 2, {.payload = payload, .overlap = true}});
    expect_run_equals_prediction(
        {"prism", 3, {.segments = 2, .scaling = Scaling::duplicate, .payload = payload}});
  }
}

TEST_P(Prediction, OfAstraVariantsEqualsTheRun) {
  for (const int devices : {2, 4})
    for (const compress::IndexBits bits : {compress::IndexBits::wide, compress::IndexBits::packed})
      for (const Index groups : {1, 3})
        expect_run_equals_prediction(
            {"astra", devices, {.index_bits = bits}, Buffers::off, groups});
}

TEST_P(Prediction, OfTraceBuffersAndLevelsEqualsTheRun) {
  for (const char* strategy : {"trace-b", "trace-2a"})
    for (const Buffers buffers : {Buffers::hidden, Buffers::off})
      expect_run_equals_prediction({strategy, 3, {}, buffers});
  for (const char* strategy : {"trace-b", "trace-nb", "trace-2a", "trace-1b"})
    for (const int level : {0, 2}) expect_run_equals_prediction({strategy, 2, {.level = level}});
}

TEST_P(Prediction, WithTheOtherOverlapEqualsTheRun) {
  for (const char* strategy : {"voltage", "prism", "astra"})
    expect_run_equals_prediction({strategy, 3, {.segments = 1, .overlap = true}});
  for (const char* strategy : {"trace-b", "trace-nb", "trace-2a", "trace-1b"})
    expect_run_equals_prediction({strategy, 3, {.overlap = false}});
}

TEST_P(Prediction, OfWeightedPartitionsEqualsTheRun) {
  const StrategyOptions weighted{.partition = PartitionPolicy::weighted, .weights = {1, 3, 2}};
  for (const char* strategy : {"voltage", "astra", "trace-b", "trace-nb", "tensor"})
    expect_run_equals_prediction({strategy, 3, weighted});
}

class ClassTokenPrediction : public Prediction {};
TEST_P(ClassTokenPrediction, OfAReplicatedTokenEqualsTheRun) {
  for (const int devices : kDevices)
    expect_run_equals_prediction(
        {"astra", devices, {.class_token = strategy::ClassToken::replicated}});
}

INSTANTIATE_TEST_SUITE_P(Models, Prediction, testing::ValuesIn(kModels));
INSTANTIATE_TEST_SUITE_P(Models, ClassTokenPrediction, testing::Values("vit-tiny", "vivit-tiny"));

/// Partial sums cross the wire, or one device has them all.
TEST(MeanPoolingPrediction, EqualsTheRun) {
  const model::Model model = test::make_model(test::six_blocks());
  for (const int devices : {1, 3})
    for (const char* strategy : {"voltage", "prism", "astra", "trace-b", "tensor", "pipeline"})
      expect_run_equals_prediction(model, 11, {strategy, devices, {.segments = 2}});
  expect_run_equals_prediction(model, 11, {"pipeline", 4, {.micro_batches = 4}});
}

TEST(UnevenHeadsPrediction, EqualsTheRun) {
  const model::Model model = test::make_model(test::four_heads());
  for (const int devices : {2, 3, 4}) expect_run_equals_prediction(model, 13, {"tensor", devices});
}

}  // namespace
}  // namespace thinwire
