// io=terminal: a terminal distributes and collects, and gets what device 0 gets without it.
#include <gtest/gtest.h>

#include "support/golden.hpp"
#include "support/local_run.hpp"

namespace thinwire {
namespace {

using strategy::StrategyOptions;

constexpr const char* kModels[] = {"vit-tiny", "bert-tiny", "gpt2-tiny", "vivit-tiny"};

/// What the terminal has in the end, and every rank's account, the terminal's last.
struct TerminalResult {
  Matrix<float> values;
  Slice rows;
  std::vector<fabric::DeviceIteration> iterations;
};

TerminalResult run_with_terminal(const model::Model& model, const char* strategy, int devices,
                                 StrategyOptions options, const model::ModelInput& input) {
  options.io = strategy::Io::terminal;
  TerminalResult result;
  result.iterations.resize(static_cast<std::size_t>(devices) + 1);
  const auto inner = fabric::make_local_transports(devices);
  test::on_devices(devices + 1, [&](fabric::Transport& all) {
    const int rank = all.rank();
    fabric::Transport* among_devices =
        rank < devices ? inner[static_cast<std::size_t>(rank)].get() : nullptr;
    const auto runner = strategy::make_strategy(
        strategy, model, options,
        {.device = rank, .devices = devices, .lengths = {input.tokens(model.config())}});
    const auto fabric = fabric::make_fabric_with_terminal(
        all, among_devices,
        {.clock = fabric::Clock::modelled,
         .links = {{.rates = {Rate::parse("10Mbps")}}},
         .device_flops_per_s = std::vector<double>(static_cast<std::size_t>(devices), 1e9)});
    fabric->begin_iteration();
    const strategy::Output output = runner->forward(input, *fabric);
    result.iterations[static_cast<std::size_t>(rank)] = fabric->end_iteration();
    if (rank < devices) {
      EXPECT_EQ(output.values.size(), 0) << "an answer is left on device " << rank;
      return;
    }
    result.values = Matrix<float>(output.values.rows(), output.values.cols());
    copy<float>(output.values, result.values.view());
    result.rows = output.rows;
  });
  return result;
}

class WithTerminal : public testing::TestWithParam<const char*> {
 protected:
  model::Model model_ = test::load_model(test::kGoldenFolder / "models" / GetParam());
  model::ModelInput input_ = model::random_input(
      model_.config(), model_.config().is_text() ? 23 : model_.config().tokens, 7);

  std::unique_ptr<compress::CodebookSet> codebooks(const compress::CodebookUse& use) const {
    const auto source = compress::random_codebooks(model_.config(), use, 8, 3);
    return std::make_unique<compress::CodebookSet>(
        model_, use, *source, model::WeightPlace{std::pmr::new_delete_resource()});
  }

  void expect_same_answer(const char* strategy, int devices, StrategyOptions options) {
    SCOPED_TRACE(testing::Message() << strategy << " P=" << devices);
    const bool is_language = model_.config().head == model::HeadKind::language_model;
    options.collect = strategy::Collect::all;
    const test::PassResult replicated = test::run_pass(model_, strategy, devices, options, input_);
    const TerminalResult all = run_with_terminal(model_, strategy, devices, options, input_);
    EXPECT_LE(test::relative_difference(all.values.view(), replicated.values.view()), 1e-5);
    EXPECT_EQ(all.rows.size, is_language ? input_.tokens(model_.config()) : 0);
    if (!is_language) return;
    options.collect = strategy::Collect::last;
    const TerminalResult last = run_with_terminal(model_, strategy, devices, options, input_);
    const Index row = replicated.values.rows() - 1;
    EXPECT_EQ(last.rows, (Slice{row, 1}));
    EXPECT_LE(test::relative_difference(last.values.view(),
                                        std::as_const(replicated.values).view().rows(row, 1)),
              1e-5);
  }
};

TEST_P(WithTerminal, TheAnswerIsThatOfReplicatedInput) {
  expect_same_answer("single", 1, {});
  for (const int devices : {1, 2, 3}) {
    expect_same_answer("voltage", devices, {});
    expect_same_answer("prism", devices, {.segments = 1});
    for (const char* strategy : {"voltage", "prism"})  // whose payloads the terminal makes
      expect_same_answer(strategy, devices, {.segments = 1, .payload = compress::RowFormat::int8});
    expect_same_answer("tensor", devices, {});
    expect_same_answer("pipeline", devices, {});
    for (const strategy::StrategyEntry& entry : strategy::strategies()) {
      if (!entry.codebooks) continue;
      const auto set = codebooks(*entry.codebooks);
      expect_same_answer(entry.name.data(), devices, {.codebooks = set.get()});
    }
  }
}

TEST_P(WithTerminal, PaddingIsHiddenThereToo) {
  if (!model_.config().is_text()) GTEST_SKIP() << "pictures have no padding";
  input_.real.assign(23, 1);
  std::fill(input_.real.begin() + 7, input_.real.end(), std::uint8_t{0});  // all of device 1 of 2

  for (const char* strategy : {"voltage", "tensor", "pipeline"})
    expect_same_answer(strategy, 2, {});
  expect_same_answer("prism", 2, {.segments = 2});
  for (const strategy::StrategyEntry& entry : strategy::strategies()) {
    if (!entry.codebooks) continue;
    const auto set = codebooks(*entry.codebooks);
    expect_same_answer(entry.name.data(), 2, {.codebooks = set.get()});
  }
}

TEST_P(WithTerminal, TheTerminalSendsIndexRowsAndPeersPayloads) {
  const Index tokens = input_.tokens(model_.config()), hidden = model_.config().hidden;
  const TerminalResult result = run_with_terminal(model_, "voltage", 2, {}, input_);

  const fabric::Traffic& sent = result.iterations.back().traffic;
  EXPECT_EQ(sent.header_bits, 2 * 32);
  EXPECT_EQ(sent.payload_bits, 2 * 32 * tokens * hidden);
}

TEST_P(WithTerminal, PayloadsAreReducedAndADevicesOwnRowsAreNot) {
  const Index tokens = input_.tokens(model_.config()), hidden = model_.config().hidden;
  const TerminalResult result =
      run_with_terminal(model_, "voltage", 2, {.payload = compress::RowFormat::int8}, input_);

  EXPECT_EQ(result.iterations.back().traffic.payload_bits,
            32 * tokens * hidden + tokens * (32 + 8 * hidden));
}

TEST_P(WithTerminal, EveryDeviceIsDistributedToBeforeItHasComputed) {
  const TerminalResult result = run_with_terminal(model_, "prism", 3, {.segments = 1}, input_);
  for (std::size_t rank = 0; rank < result.iterations.size(); ++rank) {
    const fabric::DeviceIteration& iteration = result.iterations[rank];
    const auto& [distributed, first, computed] = iteration.links[0].milestone_s;
    if (rank < 3)
      EXPECT_GT(distributed, 0);
    else  // the terminal: looking ids up counts no operation, hence takes no modelled time
      EXPECT_GE(distributed, 0);
    EXPECT_GE(computed, distributed);
    EXPECT_LE(computed, iteration.links[0].compute_s + iteration.links[0].wait_s);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, WithTerminal, testing::ValuesIn(kModels));

}  // namespace
}  // namespace thinwire
