// With a terminal too, counted equals predicted, and the modelled clock equals the formula.
#include "made_up_models.hpp"
#include "predicted.hpp"

namespace thinwire {
namespace {

using strategy::Collect;
using strategy::StrategyOptions;
using test::Setting;

constexpr const char* kModels[] = {"vit-tiny", "bert-tiny", "gpt2-tiny", "vivit-tiny"};

/// Every device's account, and the terminal's behind them.
struct Members {
  std::vector<fabric::DeviceIteration> iterations;
  std::vector<std::int64_t> workspace_bytes;
};

Members run(const model::Model& model, const Setting& setting, const StrategyOptions& options,
            const fabric::FabricOptions& fabric_options, const model::ModelInput& input) {
  const int devices = setting.devices;
  Members members{std::vector<fabric::DeviceIteration>(static_cast<std::size_t>(devices) + 1),
                  std::vector<std::int64_t>(static_cast<std::size_t>(devices) + 1)};
  const auto inner = fabric::make_local_transports(devices);
  test::on_devices(devices + 1, [&](fabric::Transport& all) {
    const auto member = static_cast<std::size_t>(all.rank());
    TrackingResource memory;
    const auto runner =
        strategy::make_strategy(setting.strategy, model, options,
                                {all.rank(), devices, 1, {input.tokens(model.config())}, &memory});
    const auto fabric = fabric::make_fabric_with_terminal(
        all, all.rank() < devices ? inner[member].get() : nullptr, fabric_options);
    fabric->begin_iteration();
    runner->forward(input, *fabric);
    members.iterations[member] = fabric->end_iteration();
    members.workspace_bytes[member] = memory.held_bytes();
  });
  return members;
}

void expect_run_equals_prediction(const model::Model& model, Index tokens, Setting setting) {
  SCOPED_TRACE(test::describe(setting));
  setting.options.io = strategy::Io::terminal;
  const auto codebooks = test::codebooks_for(model, setting);
  StrategyOptions options = setting.options;
  options.codebooks = codebooks ? &*codebooks : nullptr;
  const fabric::FabricOptions fabric_options = test::unequal_devices(setting.devices);

  const Members ours =
      run(model, setting, options, fabric_options, model::random_input(model.config(), tokens, 7));
  const cost::Prediction predicted =
      cost::predict(test::workload_of(model, setting, tokens, options.codebooks));

  for (std::size_t p = 0; p < predicted.tail.size(); ++p) {
    test::expect_counted(ours.iterations[p], predicted, p);
    EXPECT_EQ(ours.workspace_bytes[p], predicted.memory[p].activations) << "device " << p;
  }
  EXPECT_EQ(ours.iterations.back().operations, predicted.terminal_operations);
  EXPECT_EQ(ours.iterations.back().traffic.wire_bytes, predicted.terminal_wire_bytes);
  test::expect_times(ours.iterations, predicted, fabric_options);
}

class TerminalPrediction : public testing::TestWithParam<const char*> {
 protected:
  TerminalPrediction() { ops::set_threads(1); }  // tiny products gain nothing by more

  void expect_run_equals_prediction(const Setting& setting) const {
    const bool is_text = model_.config().is_text();
    thinwire::expect_run_equals_prediction(model_, is_text ? 23 : model_.config().tokens, setting);
  }

  model::Model model_ = test::load_model(test::kGoldenFolder / "models" / GetParam());
};

TEST_P(TerminalPrediction, OfTheSequenceParallelFamilyEqualsTheRun) {
  expect_run_equals_prediction({"single", 1});
  for (const int devices : {1, 2, 4})
    for (const char* strategy :
         {"voltage", "prism", "astra", "trace-b", "trace-nb", "trace-2a", "trace-1b"})
      expect_run_equals_prediction({strategy, devices, {.segments = 1}});
}

TEST_P(TerminalPrediction, OfReducedPayloadsEqualsTheRun) {
  using compress::RowFormat;
  for (const RowFormat payload : {RowFormat::fp16, RowFormat::bf16, RowFormat::int8})
    for (const char* strategy : {"voltage", "prism"})
      expect_run_equals_prediction({strategy, 3, {.segments = 2, .payload = payload}});
}

TEST_P(TerminalPrediction, OfSplitBlocksEqualsTheRun) {
  for (const int devices : {1, 2, 3}) {
    expect_run_equals_prediction({"tensor", devices});
    for (const int micro_batches : {1, 3})
      expect_run_equals_prediction({"pipeline", devices, {.micro_batches = micro_batches}});
  }
}

TEST_P(TerminalPrediction, OfAllRowsEqualsTheRun) {
  for (const char* strategy : {"prism", "trace-b", "tensor", "pipeline"})
    expect_run_equals_prediction(
        {strategy, 3, {.segments = 1, .micro_batches = 2, .collect = Collect::all}});
}

INSTANTIATE_TEST_SUITE_P(Models, TerminalPrediction, testing::ValuesIn(kModels));

TEST(TerminalClassTokenPrediction, EqualsTheRun) {
  const model::Model model = test::load_model(test::kGoldenFolder / "models" / "vit-tiny");
  expect_run_equals_prediction(model, model.config().tokens,
                               {"astra", 3, {.class_token = strategy::ClassToken::replicated}});
}

TEST(TerminalMeanPoolingPrediction, EqualsTheRun) {
  const model::Model model = test::make_model(test::six_blocks());
  for (const char* strategy : {"voltage", "trace-b", "tensor", "pipeline"})
    expect_run_equals_prediction(model, 11, {strategy, 3});
}

}  // namespace
}  // namespace thinwire
