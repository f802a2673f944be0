#pragma once
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "support/codebooks.hpp"
#include "support/local_run.hpp"
#include "thinwire/cost/modelled_time.hpp"

namespace thinwire::test {

/// What is run, and what is predicted.
struct Setting {
  const char* strategy = "single";
  int devices = 1;
  strategy::StrategyOptions options;
  compress::Buffers buffers = compress::Buffers::kv;
  Index groups = 1;
};

inline testing::Message describe(const Setting& setting) {
  const strategy::StrategyOptions& options = setting.options;
  testing::Message text;
  text << setting.strategy << " P=" << setting.devices << " L=" << options.segments << " "
       << compress::to_string(options.scaling) << " " << compress::to_string(options.payload)
       << " level=" << options.level << " buffers=" << compress::to_string(setting.buffers)
       << " G=" << setting.groups << " bits=" << compress::to_string(options.index_bits)
       << " class-token=" << strategy::to_string(options.class_token)
       << " M=" << options.micro_batches;
  if (options.overlap) text << " overlap=" << *options.overlap;
  return text;
}

/// Ten codewords leave padding in most frames; nothing where none are used.
inline std::optional<compress::CodebookSet> codebooks_for(const model::Model& model,
                                                          const Setting& setting) {
  const auto entry = std::ranges::find(strategy::strategies(), std::string_view(setting.strategy),
                                       &strategy::StrategyEntry::name);
  if (!entry->codebooks || setting.devices == 1) return std::nullopt;
  compress::CodebookUse use = *entry->codebooks;
  use.groups = setting.groups;
  if (use.buffers != compress::Buffers::off) use.buffers = setting.buffers;
  return make_random_codebooks(model, use, 10);
}

inline cost::Workload workload_of(const model::Model& model, const Setting& setting, Index tokens,
                                  const compress::CodebookSet* codebooks) {
  const strategy::StrategyOptions& options = setting.options;
  cost::Workload workload{
      .model = model.config(),
      .tokens = tokens,
      .strategy = setting.strategy,
      .devices = setting.devices,
      .partition = options.partition,
      .weights = options.weights,
      .segments = options.segments,
      .scaling = options.scaling,
      .payload = options.payload,
      .overlap = options.overlap,
      .groups = setting.groups,
      .index_bits = options.index_bits,
      .replicates_class_token = options.class_token == strategy::ClassToken::replicated,
      .buffers = setting.buffers,
      .micro_batches = options.micro_batches,
      .has_terminal = options.io == strategy::Io::terminal,
      .collects_all = options.collect == strategy::Collect::all};
  if (codebooks == nullptr) return workload;
  const std::span<const Index> levels = codebooks->levels();
  workload.codewords = codebooks->codewords();
  workload.levels.assign(levels.begin(), levels.end());
  if (options.level >= 0)
    workload.active_codewords = levels[static_cast<std::size_t>(options.level)];
  return workload;
}

/// Unequal devices under four links.
inline fabric::FabricOptions unequal_devices(int devices) {
  fabric::FabricOptions options{.clock = fabric::Clock::modelled};
  options.links = {{},
                   {.rates = {Rate::parse("10Mbps")}, .latency = Seconds(1e-3)},
                   {.rates = {Rate::parse("3Mbps")}, .topology = fabric::Topology::broadcast},
                   {.rates = {Rate::parse("7Mbps")}, .topology = fabric::Topology::shared}};
  for (int p = 0; p < devices; ++p) {
    options.slowness.push_back(1.0 + 0.3 * p);
    options.device_flops_per_s.push_back(1e9 / (1.0 + p));
  }
  return options;
}

inline void expect_counted(const fabric::DeviceIteration& counted,
                           const cost::Prediction& predicted, std::size_t device) {
  SCOPED_TRACE(testing::Message() << "device " << device);
  EXPECT_EQ(counted.operations, predicted.device_operations[device]);
  EXPECT_EQ(counted.traffic.payload_bits, predicted.payload_bits[device]);
  EXPECT_EQ(counted.traffic.header_bits, predicted.header_bits[device]);
  EXPECT_EQ(counted.traffic.padding_bits, predicted.padding_bits[device]);
  EXPECT_EQ(counted.traffic.wire_bytes, predicted.wire_bytes[device]);
}

/// Every device's times and the terminal's, to the last bit.
inline void expect_times(std::span<const fabric::DeviceIteration> members,
                         const cost::Prediction& predicted, const fabric::FabricOptions& options) {
  for (std::size_t l = 0; l < options.links.size(); ++l) {
    SCOPED_TRACE(fabric::to_string(options.links[l]));
    const auto times = cost::modelled_time(std::span(&predicted, 1), options.links[l],
                                           options.device_flops_per_s, options.slowness);
    ASSERT_EQ(times.size(), members.size());
    for (std::size_t m = 0; m < members.size(); ++m) {
      SCOPED_TRACE(testing::Message() << "member " << m);
      const fabric::LinkTimes& ours = members[m].links[l];
      EXPECT_EQ(ours.compute_s, times[m].compute_s);
      EXPECT_EQ(ours.wait_s, times[m].wait_s);
      EXPECT_EQ(ours.hidden_s, times[m].hidden_s);
      EXPECT_EQ(ours.skew_s, times[m].skew_s);
      for (std::size_t i = 0; i < ours.milestone_s.size(); ++i)
        EXPECT_TRUE(ours.milestone_s[i] == times[m].milestone_s[i] ||
                    (std::isnan(ours.milestone_s[i]) && std::isnan(times[m].milestone_s[i])))
            << "milestone " << i << ": " << ours.milestone_s[i] << " and "
            << times[m].milestone_s[i];
    }
  }
}

}  // namespace thinwire::test
