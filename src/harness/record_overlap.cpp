#include <vector>

#include "record_parts.hpp"
#include "thinwire/cost/overlap.hpp"
#include "thinwire/harness/statistics.hpp"
#include "thinwire/harness/strategy_traits.hpp"

namespace thinwire::harness {
namespace {

bool overlaps(const RunSpec& spec) {
  const StrategyTraits traits = traits_of(spec.strategy);
  return traits.splits_tokens && spec.overlap.value_or(traits.overlaps);
}

/// The median over the iterations, one an exchange.
std::vector<double> typical_windows(const Windows& windows) {
  std::vector<double> typical_s;
  for (std::size_t e = 0; e < windows.front().size(); ++e) {
    std::vector<double> samples;
    for (const std::vector<double>& iteration : windows) samples.push_back(iteration.at(e));
    typical_s.push_back(summarize(std::move(samples)).p50);
  }
  return typical_s;
}

}  // namespace

Json overlap_section(const Result& result) {
  if (result.spec.level_control != strategy::LevelControl::fixed) return nullptr;  // no one size
  if (result.windows_s.empty() || result.windows_s.front().empty() || !overlaps(result.spec))
    return nullptr;
  const std::vector<double> windows_s = typical_windows(result.windows_s);
  // What the terminal distributes takes the place of exchange 0.
  const int first = result.spec.has_terminal() ? 1 : 0;
  Json exchanges = Json::array();
  for (std::size_t e = 0; e < windows_s.size(); ++e)
    exchanges.push_back({{"exchange", first + static_cast<int>(e)},
                         {"window_s", windows_s[e]},
                         {"transfer_s", Json::array()},
                         {"slowest_hidden_rate_bit_per_s", Json::array()}});
  for (const fabric::Link& link : result.spec.links()) {
    const auto law = cost::overlap_law(result.predictions.front(), link, windows_s);
    for (std::size_t e = 0; e < law.size(); ++e) {
      exchanges[e]["transfer_s"].push_back(finite_or_null(law[e].transfer_s));
      exchanges[e]["slowest_hidden_rate_bit_per_s"].push_back(
          finite_or_null(law[e].slowest_hidden_rate_bit_per_s));
    }
  }
  return exchanges;
}

}  // namespace thinwire::harness
