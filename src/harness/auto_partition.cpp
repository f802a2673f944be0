#include "thinwire/harness/auto_partition.hpp"

#include <algorithm>

#include "check_strategy.hpp"
#include "thinwire/cost/iteration.hpp"
#include "thinwire/cost/modelled_time.hpp"
#include "thinwire/cost/row_search.hpp"
#include "thinwire/harness/check_spec.hpp"
#include "thinwire/harness/strategy_traits.hpp"

namespace thinwire::harness {
namespace {

Index owned_tokens(const RunSpec& spec, Index tokens) {
  const bool replicates = spec.class_token == strategy::ClassToken::replicated && spec.devices > 1;
  return tokens - (replicates ? 1 : 0);
}

/// The work of a search, which grows with the devices in every evaluation.
int evaluations_for(int devices) {
  return std::clamp(16'000 / devices, 100, 2000);
}

double lacking_bytes(const cost::Prediction& prediction, const std::vector<Bytes>& limits) {
  double lacking = 0;
  for (std::size_t p = 0; p < limits.size(); ++p) {
    const auto& [weights, codebooks, buffers, activations] = prediction.memory[p];
    const std::int64_t excess = weights + codebooks + buffers + activations - limits[p].count();
    lacking += static_cast<double>(std::max<std::int64_t>(0, excess));
  }
  return lacking;
}

/// What the search minimises; keeps what does not change between its calls.
class Objective {
 public:
  Objective(const RunSpec& spec, const model::ModelConfig& config, Index tokens,
            const DeviceRates& rates)
      : spec_(spec),
        tokens_(tokens),
        rates_(rates),
        links_(spec.links()),
        slowness_(spec.slowness_per_device()),
        memory_(spec.memory_per_device()) {
    for (fabric::Link& link : links_) link = at_mean_rate(std::move(link));
    workload_ = to_workload(spec_, config, tokens);
  }

  cost::RowCost operator()(std::span<const Index> rows) {
    workload_.weights.assign(rows.begin(), rows.end());
    const cost::Prediction prediction = cost::predict(workload_);
    const std::vector<double> flops_per_s = rates_(computed_rows(spec_, rows, tokens_));
    cost::RowCost cost{.lacking_bytes = lacking_bytes(prediction, memory_)};
    for (const fabric::Link& link : links_) {
      const auto times =
          cost::modelled_time(std::span(&prediction, 1), link, flops_per_s, slowness_);
      cost.latency_s = std::max(cost.latency_s, cost::iteration_s(times));
      cost.imbalance = 0;
      for (const cost::DeviceTime& time : times) cost.imbalance += time.compute_s * time.compute_s;
    }
    return cost;
  }

 private:
  const RunSpec& spec_;
  Index tokens_;
  const DeviceRates& rates_;
  cost::Workload workload_;
  std::vector<fabric::Link> links_;
  std::vector<double> slowness_;
  std::vector<Bytes> memory_;
};

}  // namespace

DeviceRates fixed_rates(const RunSpec& spec) {
  return [rates = spec.flops_per_s_per_device()](std::span<const Index>) { return rates; };
}

std::vector<Index> computed_rows(const RunSpec& spec, std::span<const Index> rows, Index tokens) {
  if (!traits_of(spec.strategy).splits_tokens) return std::vector<Index>(rows.size(), tokens);
  std::vector<Index> computed(rows.begin(), rows.end());
  for (Index& count : computed) count += tokens - owned_tokens(spec, tokens);
  return computed;
}

std::vector<Index> find_rows(const RunSpec& spec, const model::ModelConfig& config, Index tokens,
                             const DeviceRates& rates, std::span<const Index> start) {
  const Index owned = owned_tokens(spec, tokens);
  if (spec.devices == 1) return {owned};
  const Index least = std::max<Index>(1, segments_for(spec, tokens));
  // A first guess of the speeds, for rates that depend on the rows.
  const std::vector<Index> equal(static_cast<std::size_t>(spec.devices), owned / spec.devices);
  std::vector<double> speeds = rates(computed_rows(spec, equal, tokens));
  const std::vector<double> slowness = spec.slowness_per_device();
  for (std::size_t p = 0; p < speeds.size(); ++p) speeds[p] /= slowness[p];
  Objective objective(spec, config, tokens, rates);
  return cost::search_rows(
             owned, least, speeds, [&](std::span<const Index> rows) { return objective(rows); },
             start, evaluations_for(spec.devices))
      .rows;
}

void resolve_rows(RunSpec& spec, const model::ModelConfig& config, Index tokens) {
  if (spec.partition != PartitionPolicy::automatic) return;
  spec.rows.clear();  // of another length
  if (division_misfit(spec, config, tokens)) return;
  spec.rows = find_rows(spec, config, tokens, fixed_rates(spec));
}

}  // namespace thinwire::harness
