#include "thinwire/harness/auto_level.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "check_strategy.hpp"
#include "thinwire/cost/iteration.hpp"
#include "thinwire/cost/modelled_time.hpp"
#include "thinwire/cost/overlap.hpp"
#include "thinwire/harness/check_spec.hpp"

namespace thinwire::harness {
namespace {

/// What a level means for time.
struct LevelTime {
  bool is_hidden = false;
  double latency_s = 0;  ///< under the slowest link
};

bool hides_exchanges(const cost::Prediction& prediction, const fabric::Link& link,
                     const RunSpec& spec) {
  const std::vector<double> windows_s = cost::modelled_windows_s(
      prediction, spec.flops_per_s_per_device(), spec.slowness_per_device());
  const auto law = cost::overlap_law(prediction, link, windows_s);
  const std::size_t first = law.size() > 1 ? 1 : 0;
  return std::all_of(law.begin() + static_cast<std::ptrdiff_t>(first), law.end(),
                     [](const cost::ExchangeOverlap& exchange) { return exchange.excess_s <= 0; });
}

LevelTime time_of(const RunSpec& spec, const model::ModelConfig& config) {
  const cost::Prediction prediction =
      cost::predict(to_workload(spec, config, default_tokens(spec, config)));
  LevelTime time{.is_hidden = true};
  for (const fabric::Link& setting : spec.links()) {
    const fabric::Link link = at_mean_rate(setting);
    time.is_hidden = time.is_hidden && hides_exchanges(prediction, link, spec);
    time.latency_s =
        std::max(time.latency_s, cost::iteration_s(cost::modelled_time(
                                     std::span(&prediction, 1), link, spec.flops_per_s_per_device(),
                                     spec.slowness_per_device())));
  }
  return time;
}

int choose(RunSpec spec, const model::ModelConfig& config, std::span<const Index> levels) {
  const int finest = static_cast<int>(levels.size()) - 1;
  int fastest = finest;
  double least_s = std::numeric_limits<double>::infinity();
  for (int level = finest; level >= 0; --level) {
    spec.level = level;
    spec.active_codewords = levels[static_cast<std::size_t>(level)];
    const LevelTime time = time_of(spec, config);
    if (time.is_hidden) return level;
    if (time.latency_s >= least_s) continue;
    least_s = time.latency_s;
    fastest = level;
  }
  return fastest;
}

}  // namespace

void resolve_level(RunSpec& spec, const model::ModelConfig& config, std::span<const Index> levels) {
  if (!spec.is_level_auto) return;
  spec.is_level_auto = false;
  spec.codewords = levels.back();
  // Where there is nothing to choose, or the point cannot run and will say so itself.
  const bool is_open = levels.size() > 1 && spec.devices > 1 &&
                       !strategy_misfit(spec, config, default_tokens(spec, config));
  spec.level = is_open ? choose(spec, config, levels) : static_cast<int>(levels.size()) - 1;
}

}  // namespace thinwire::harness
