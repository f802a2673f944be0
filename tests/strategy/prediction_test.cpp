// Counted equals predicted, as integers, and the modelled clock equals the formula, to the bit.
#include <gtest/gtest.h>

#include "support/golden.hpp"
#include "support/local_run.hpp"
#include "thinwire/cost/modelled_time.hpp"

namespace thinwire {
namespace {

using compress::Scaling;

constexpr const char* kModels[] = {"vit-tiny", "bert-tiny", "gpt2-tiny", "vivit-tiny"};

struct Setting {
  const char* strategy;
  int devices;
  Index segments = 0;
  Scaling scaling = Scaling::on;
};

std::vector<Setting> settings() {
  std::vector<Setting> all{{"single", 1}, {"prism", 1, 1}};
  for (const int devices : {2, 3, 4, 6}) {
    all.push_back({"voltage", devices});
    for (const Scaling scaling : {Scaling::on, Scaling::off, Scaling::duplicate})
      all.push_back({"prism", devices, 1, scaling});
  }
  all.push_back({"prism", 2, 3});
  return all;
}

cost::Prediction predict(const model::Model& model, const Setting& setting, Index tokens) {
  return cost::predict({.model = model.config(),
                        .tokens = tokens,
                        .strategy = setting.strategy,
                        .devices = setting.devices,
                        .segments = setting.segments,
                        .scaling = setting.scaling});
}

class Prediction : public testing::TestWithParam<const char*> {};

void expect_counts(const test::PassResult& ours, const cost::Prediction& predicted) {
  for (std::size_t p = 0; p < ours.iterations.size(); ++p) {
    SCOPED_TRACE(testing::Message() << "device " << p);
    const fabric::DeviceIteration& counted = ours.iterations[p];
    EXPECT_EQ(counted.operations, predicted.device_operations[p]);
    EXPECT_EQ(counted.traffic.payload_bits, predicted.payload_bits[p]);
    EXPECT_EQ(counted.traffic.header_bits, predicted.header_bits[p]);
    EXPECT_EQ(counted.traffic.padding_bits, predicted.padding_bits[p]);
    EXPECT_EQ(counted.traffic.wire_bytes, predicted.wire_bytes[p]);
    EXPECT_EQ(ours.workspace_bytes[p], predicted.memory[p].activations);
  }
}

TEST_P(Prediction, CountsAndTimesEqualTheFormulas) {
  const model::Model model = test::load_model(test::kGoldenFolder / "models" / GetParam());
  const Index tokens = model.config().is_text() ? 23 : model.config().tokens;
  const model::ModelInput input = model::random_input(model.config(), tokens, 7);

  for (const Setting& setting : settings()) {
    SCOPED_TRACE(testing::Message()
                 << setting.strategy << " P=" << setting.devices << " L=" << setting.segments << " "
                 << compress::to_string(setting.scaling));
    const auto devices = static_cast<std::size_t>(setting.devices);
    fabric::FabricOptions options{.clock = fabric::Clock::modelled};
    options.links = {{},
                     {.rates = {Rate::parse("10Mbps")}, .latency = Seconds(1e-3)},
                     {.rates = {Rate::parse("3Mbps")}, .topology = fabric::Topology::broadcast},
                     {.rates = {Rate::parse("7Mbps")}, .topology = fabric::Topology::shared}};
    for (std::size_t p = 0; p < devices; ++p) {
      options.slowness.push_back(1.0 + 0.3 * static_cast<double>(p));
      options.device_flops_per_s.push_back(1e9 / (1.0 + static_cast<double>(p)));
    }

    const test::PassResult ours = test::run_pass(
        model, setting.strategy, setting.devices,
        {.segments = setting.segments, .scaling = setting.scaling}, input, 0, options);
    const cost::Prediction predicted = predict(model, setting, tokens);

    expect_counts(ours, predicted);
    for (std::size_t l = 0; l < options.links.size(); ++l) {
      const auto times = cost::modelled_time(std::span(&predicted, 1), options.links[l],
                                             options.device_flops_per_s, options.slowness);
      for (std::size_t p = 0; p < devices; ++p) {
        EXPECT_EQ(ours.iterations[p].links[l].compute_s, times[p].compute_s);
        EXPECT_EQ(ours.iterations[p].links[l].wait_s, times[p].wait_s);
        EXPECT_EQ(ours.iterations[p].links[l].hidden_s, times[p].hidden_s);
        EXPECT_EQ(ours.iterations[p].links[l].skew_s, times[p].skew_s);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Prediction, testing::ValuesIn(kModels));

}  // namespace
}  // namespace thinwire
