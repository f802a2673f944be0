// Pipeline parallelism (METHODS 5): blocks split over stages, several copies of the input in
// flight.
#include "thinwire/strategy/pipeline.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "strategy/made_up_models.hpp"
#include "support/golden.hpp"
#include "support/local_run.hpp"
#include "support/messages.hpp"

namespace thinwire {
namespace {

using fabric::DeviceIteration;
using strategy::StrategyOptions;
using test::PassResult;
using test::run_pass;

constexpr double kExact = 1e-4;  // fp32 in another order of sums, relative to the largest value

void expect_equal(const PassResult& a, const PassResult& b) {
  EXPECT_LE(test::relative_difference(a.values.view(), b.values.view()), kExact);
  for (std::size_t l = 0; l < a.hidden.size(); ++l)
    EXPECT_LE(test::relative_difference(a.hidden[l].view(), b.hidden[l].view()), kExact) << l;
}

double latency_s(const DeviceIteration& iteration) {
  return iteration.links[0].compute_s + iteration.links[0].wait_s;
}

double first_output_s(const DeviceIteration& iteration) {
  return iteration.links[0].milestone_s[static_cast<std::size_t>(fabric::Milestone::first_output)];
}

class Pipeline : public testing::TestWithParam<const char*> {
 protected:
  model::Model model_ = test::load_model(test::kGoldenFolder / "models" / GetParam());
  const model::ModelConfig& config_ = model_.config();
  model::ModelInput input_ =
      model::random_input(config_, config_.is_text() ? 23 : config_.tokens, 7);
};

TEST_P(Pipeline, EqualsTheSingleDevice) {
  const PassResult single = run_pass(model_, "single", 1, {}, input_);

  for (const int devices : {1, 2, 3})
    for (const int copies : {1, 2, 5}) {
      SCOPED_TRACE(testing::Message() << devices << " devices, " << copies << " micro-batches");
      expect_equal(run_pass(model_, "pipeline", devices, {.micro_batches = copies}, input_),
                   single);
    }
}

TEST_P(Pipeline, StagesSendEveryRowOfEveryCopyOnce) {
  const Index values = input_.tokens(config_) * config_.hidden;
  for (const int devices : {1, 2, 3}) {
    const PassResult pass = run_pass(model_, "pipeline", devices, {.micro_batches = 4}, input_);
    for (int p = 0; p < devices; ++p) {
      const fabric::Traffic& traffic = pass.iterations[static_cast<std::size_t>(p)].traffic;
      const bool is_last = p + 1 == devices;
      EXPECT_EQ(traffic.wire_bytes, is_last ? 0 : 4 * 4 * values) << p << " of " << devices;
      EXPECT_EQ(traffic.exchanges, is_last ? 0 : 4);
    }
  }
}

TEST_P(Pipeline, CountsTheWorkOfOneDeviceForEveryCopy) {
  const Operations single = run_pass(model_, "single", 1, {}, input_).iterations[0].operations;

  const PassResult pass = run_pass(model_, "pipeline", 3, {.micro_batches = 2}, input_);

  Operations sum;
  for (const DeviceIteration& device : pass.iterations) sum += device.operations;
  EXPECT_EQ(sum, single + single);
}

INSTANTIATE_TEST_SUITE_P(Models, Pipeline,
                         testing::Values("vit-tiny", "bert-tiny", "gpt2-tiny", "vivit-tiny"));

/// Devices as fast as their stage is large, so that all stages take 1 s for all copies together.
class EqualStages : public testing::Test {
 protected:
  static constexpr int kDevices = 3, kCopies = 4;

  PassResult run(int copies, fabric::Link link = {}) {
    fabric::FabricOptions options{.clock = fabric::Clock::modelled, .links = {std::move(link)}};
    const PassResult counted =
        run_pass(model_, "pipeline", kDevices, {.micro_batches = copies}, input_);
    for (const DeviceIteration& device : counted.iterations)
      options.device_flops_per_s.push_back(
          static_cast<double>(flops(device.operations, Convention::paper)));
    return run_pass(model_, "pipeline", kDevices, {.micro_batches = copies}, input_, 0, options);
  }

  model::Model model_ = test::make_model(test::six_blocks());
  model::ModelInput input_ = model::random_input(model_.config(), 11, 7);
};

TEST_F(EqualStages, AnUnlimitedLinkLeavesTheBubbleAlone) {
  const double stage_s = 1.0 / kCopies;

  const PassResult pass = run(kCopies);

  EXPECT_NEAR(latency_s(pass.iterations.back()), (kCopies + kDevices - 1) * stage_s, 1e-9);
  EXPECT_NEAR(first_output_s(pass.iterations.back()), kDevices * stage_s, 1e-9);
  for (int p = 0; p < kDevices; ++p) {
    const DeviceIteration& device = pass.iterations[static_cast<std::size_t>(p)];
    EXPECT_NEAR(device.links[0].compute_s, 1, 1e-9);
    EXPECT_NEAR(device.links[0].wait_s, p * stage_s, 1e-9);
  }
}

TEST_F(EqualStages, ALatencyIsPaidOnceAStage) {
  constexpr double kLatency = 0.01;

  const PassResult pass = run(kCopies, {.latency = Seconds(kLatency)});

  EXPECT_NEAR(latency_s(pass.iterations.back()),
              (kCopies + kDevices - 1) / double{kCopies} + (kDevices - 1) * kLatency, 1e-9);
}

TEST_F(EqualStages, OnlyTheLastStageOfSeveralCopiesMarksAFirstOutput) {
  const PassResult one = run(1), several = run(2);

  for (const DeviceIteration& device : one.iterations)
    EXPECT_TRUE(std::isnan(first_output_s(device)));
  EXPECT_TRUE(std::isnan(first_output_s(several.iterations[0])));
  EXPECT_TRUE(std::isnan(first_output_s(several.iterations[1])));
  EXPECT_LT(first_output_s(several.iterations[2]), latency_s(several.iterations[2]));
}

TEST(PipelineStages, UnevenBlocksEqualTheSingleDevice) {
  const model::Model model = test::make_model(test::six_blocks());
  const model::ModelInput input = model::random_input(model.config(), 11, 7);
  const PassResult single = run_pass(model, "single", 1, {}, input);

  for (const int devices : {4, 5, 6}) {
    SCOPED_TRACE(devices);
    expect_equal(run_pass(model, "pipeline", devices, {.micro_batches = 3}, input), single);
  }
}

TEST(PipelineStages, PaddingIsInvisible) {
  const model::Model classifier = test::load_model(test::kGoldenFolder / "models" / "bert-tiny");
  const model::Model embedder = test::make_model(test::six_blocks());
  for (const model::Model* model : {&classifier, &embedder}) {
    SCOPED_TRACE(model->config().name);
    model::ModelInput input = model::random_input(model->config(), 11, 7);
    input.real = {1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0};
    const PassResult single = run_pass(*model, "single", 1, {}, input);
    const PassResult ours = run_pass(*model, "pipeline", 3, {}, input);
    std::ranges::fill(input.ids.begin() + 4, input.ids.end(), 5);
    const PassResult other = run_pass(*model, "pipeline", 3, {}, input);

    expect_equal(ours, single);
    EXPECT_TRUE(std::ranges::equal(ours.values.view().row(0), other.values.view().row(0)));
  }
}

TEST(PipelineStages, AWorkspaceForLongSequencesServesShortOnes) {
  const model::Model model = test::make_model(test::six_blocks());
  const model::ModelInput input = model::random_input(model.config(), 7, 7);
  const StrategyOptions options{.micro_batches = 3};
  const PassResult alone = run_pass(model, "pipeline", 3, options, input);

  test::on_devices(3, [&](fabric::Transport& transport) {
    const auto runner = strategy::make_strategy(
        "pipeline", model, options, {.device = transport.rank(), .devices = 3, .lengths = {13, 7}});
    const auto fabric = fabric::make_fabric(transport, {});
    fabric->begin_iteration();
    runner->forward(model::random_input(model.config(), 13, 8), *fabric);
    const strategy::Output output = runner->forward(input, *fabric);

    if (transport.rank() == 2)
      EXPECT_LE(test::relative_difference(output.values, alone.values.view()), 1e-6);
    else
      EXPECT_EQ(output.values.size(), 0);
    EXPECT_THROW(runner->forward(model::random_input(model.config(), 9, 7), *fabric), Error);
  });
}

TEST(PipelineErrors, WhatDoesNotFitIsRefused) {
  const model::Model model = test::make_model(test::six_blocks());
  const auto error = [&](int devices, const StrategyOptions& options) {
    const strategy::DeviceRole role{.device = 0, .devices = devices, .lengths = {11}};
    return test::input_error([&] { strategy::make_strategy("pipeline", model, options, role); });
  };

  EXPECT_TRUE(test::mentions(error(7, {}), {"strategy=pipeline", "devices=7", "layers=6"}));
  EXPECT_TRUE(test::mentions(error(2, {.micro_batches = 0}), {"micro-batches=0"}));
}

}  // namespace
}  // namespace thinwire
