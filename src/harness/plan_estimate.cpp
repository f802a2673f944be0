#include <algorithm>
#include <utility>

#include "check_strategy.hpp"
#include "plan_parts.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/cost/energy.hpp"
#include "thinwire/cost/iteration.hpp"
#include "thinwire/harness/check_spec.hpp"
#include "thinwire/harness/statistics.hpp"

namespace thinwire::harness {
namespace {

/// The rows that every device owns under the spec's policy.
std::vector<Index> rows_of(const Candidate& candidate, const model::ModelConfig& config,
                           Index tokens, std::span<const Index> start) {
  const RunSpec& spec = candidate.entry.spec;
  if (spec.partition == PartitionPolicy::automatic)
    return find_rows(spec, config, tokens, candidate.rates, start);
  std::vector<Index> rows;
  for (const Slice& slice :
       partition(tokens, spec.devices, spec.partition, spec.partition_weights()))
    rows.push_back(slice.size);
  return rows;
}

std::int64_t most_memory(const cost::Prediction& prediction) {
  std::int64_t most = 0;
  for (const auto& [weights, codebooks, buffers, activations] : prediction.memory)
    most = std::max(most, weights + codebooks + buffers + activations);
  return most;
}

double median(std::vector<double> samples) {
  return summarize(std::move(samples)).p50;
}

double energy_of(const RunSpec& spec, std::span<const cost::DeviceTime> times,
                 std::span<const cost::RadioLoad> radio) {
  const std::vector<cost::Powers> powers = spec.powers_per_device();
  if (powers.empty()) return PlanEntry::kUnknown;
  double sum_j = 0;
  for (std::size_t p = 0; p < powers.size(); ++p)
    sum_j += cost::energy_j(powers[p], times[p].compute_s, cost::iteration_s(times), radio[p]);
  return sum_j;
}

/// Of one iteration, which all are like; where packets are sent again and chance makes iterations
/// differ, medians over those that `predict` shows.
void fill_figures(PlanEntry& entry, const cost::Prediction& prediction, const fabric::Link& link) {
  const std::span<const cost::Prediction> sequences(&prediction, 1);
  const std::vector<double> rates = entry.spec.flops_per_s_per_device();
  const std::vector<double> slowness = entry.spec.slowness_per_device();
  const auto radio = cost::radio_loads(sequences, link);
  std::vector<double> latency_s, compute_s, wait_s, energy_j;
  for (int i = 0; i < (link.loss.repeats() ? entry.spec.iterations : 1); ++i) {
    const auto times = cost::modelled_time(sequences, link, rates, slowness, i);
    const cost::DeviceTime& last = cost::last_of(times);
    latency_s.push_back(cost::end_s(last));
    compute_s.push_back(last.compute_s);
    wait_s.push_back(last.wait_s);
    energy_j.push_back(energy_of(entry.spec, times, radio));
  }
  entry.latency_s = median(std::move(latency_s));
  entry.compute_s = median(std::move(compute_s));
  entry.wait_s = median(std::move(wait_s));
  entry.energy_j = median(std::move(energy_j));
  entry.bits = std::ranges::max(radio, {}, &cost::RadioLoad::sent_bits).sent_bits;
  entry.memory_bytes = most_memory(prediction);
}

}  // namespace

void estimate(Candidate& candidate, const model::ModelConfig& config, const fabric::Link& link,
              std::span<const Index> start) {
  PlanEntry& entry = candidate.entry;
  RunSpec& spec = entry.spec;
  const Index tokens = default_tokens(spec, config);
  spec.rate = {link.rates};
  spec.latency = {link.latency};
  spec.topology = {link.topology};
  spec.rows.clear();
  if (const auto reason = division_misfit(spec, config, tokens)) {
    entry.excluded = *reason;
    return;
  }
  const std::vector<Index> rows = rows_of(candidate, config, tokens, start);
  if (spec.partition == PartitionPolicy::automatic) spec.rows = rows;
  spec.device_gflops = candidate.rates(computed_rows(spec, rows, tokens));
  for (double& rate : spec.device_gflops) rate /= 1e9;
  if (const auto reason = misfit(spec, config, tokens)) {
    entry.excluded = *reason;
    return;
  }
  fill_figures(entry, cost::predict(to_workload(spec, config, tokens)), link);
}

}  // namespace thinwire::harness
