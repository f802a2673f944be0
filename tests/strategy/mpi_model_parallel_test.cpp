// Tensor and pipeline parallelism over MPI: the numbers of one device, the counts and modelled
// times of as many threads of one process.
#include <gtest/gtest.h>

#include "support/golden.hpp"
#include "support/local_run.hpp"
#include "support/mpi_session.hpp"

namespace thinwire {
namespace {

using strategy::StrategyOptions;

class ModelParallelOverMpi : public testing::TestWithParam<const char*> {
 protected:
  void expect_same_as_threads(const char* strategy, const StrategyOptions& options) {
    SCOPED_TRACE(strategy);
    fabric::Transport& world = session_->world();
    const auto devices = static_cast<std::size_t>(world.size());
    const fabric::FabricOptions modelled{.clock = fabric::Clock::modelled,
                                         .links = {{.rates = {Rate::parse("10Mbps")}}},
                                         .device_flops_per_s = std::vector<double>(devices, 1e9)};
    const auto runner = strategy::make_strategy(strategy, model_, options,
                                                {.device = world.rank(),
                                                 .devices = world.size(),
                                                 .lengths = {input_.tokens(model_.config())}});
    const auto fabric = fabric::make_fabric(world, modelled);
    fabric->begin_iteration();
    const strategy::Output output = runner->forward(input_, *fabric);
    const fabric::DeviceIteration ours = fabric->end_iteration();

    const test::PassResult threads =
        test::run_pass(model_, strategy, world.size(), options, input_, 0, modelled);
    const auto& beside = threads.iterations[static_cast<std::size_t>(world.rank())];
    EXPECT_EQ(ours.operations, beside.operations);
    EXPECT_EQ(ours.traffic.payload_bits, beside.traffic.payload_bits);
    EXPECT_EQ(ours.links[0].compute_s, beside.links[0].compute_s);
    EXPECT_EQ(ours.links[0].wait_s, beside.links[0].wait_s);
    expect_rows_of_one_device(output);
  }

  void expect_rows_of_one_device(const strategy::Output& output) {
    const Matrix<float> single = test::run_pass(model_, "single", 1, {}, input_).values;
    if (output.values.size() == 0) return;
    const Slice rows = output.rows.size > 0 ? output.rows : Slice{0, 1};
    EXPECT_LE(test::relative_difference(output.values, single.view().rows(rows.begin, rows.size)),
              1e-4);
  }

  std::unique_ptr<fabric::MpiSession> session_ = fabric::test::make_session();
  model::Model model_ = test::load_model(test::kGoldenFolder / "models" / GetParam());
  model::ModelInput input_ = model::random_input(
      model_.config(), model_.config().is_text() ? 23 : model_.config().tokens, 7);
};

TEST_P(ModelParallelOverMpi, DevicesDoWhatTheyDoOverThreads) {
  expect_same_as_threads("tensor", {});
  expect_same_as_threads("pipeline", {});
  expect_same_as_threads("pipeline", {.micro_batches = 3});
}

INSTANTIATE_TEST_SUITE_P(Models, ModelParallelOverMpi,
                         testing::Values("vit-tiny", "bert-tiny", "gpt2-tiny", "vivit-tiny"));

}  // namespace
}  // namespace thinwire
