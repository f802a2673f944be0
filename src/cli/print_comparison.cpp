#include "print_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "figures.hpp"
#include "thinwire/harness/spec_text.hpp"

namespace thinwire::cli {
namespace {

using harness::Interval;
using harness::ResultPair;

constexpr std::size_t kShownDifferences = 5;

/// Options that tell the pairs apart, besides strategy and devices.
std::vector<std::string> distinguishing_options(const std::vector<ResultPair>& pairs) {
  std::vector<std::string> names;
  for (const auto& [name, value] : pairs.front().spec.items()) {
    if (name == "strategy" || name == "devices") continue;
    const bool differs = std::ranges::any_of(
        pairs, [&](const ResultPair& pair) { return pair.spec.value(name, Json()) != value; });
    if (differs) names.push_back(name);
  }
  return names;
}

std::string label_of(const ResultPair& pair, const std::vector<std::string>& options) {
  std::string label = fmt::format("{} P={}", pair.spec.value("strategy", "?"),
                                  pair.spec.value("devices", Json()).dump());
  for (const std::string& name : options) {
    const Json value = pair.spec.value(name, Json());
    if (!value.is_null() && !value.is_object())
      label += fmt::format(" {}={}", name, harness::flag_text(value));
  }
  return label;
}

std::string ratio_text(const std::optional<double>& ratio) {
  return ratio ? fmt::format("{:.3f}", *ratio) : "-";
}

std::string interval_text(const std::optional<Interval>& interval) {
  return interval ? fmt::format("{:.3f} .. {:.3f}", interval->low, interval->high) : "-";
}

void print_rows(const std::vector<ResultPair>& pairs, harness::Metric metric) {
  const std::vector<std::string> options = distinguishing_options(pairs);
  std::vector<std::string> labels;
  std::size_t width = 5;
  for (const ResultPair& pair : pairs) {
    labels.push_back(label_of(pair, options));
    width = std::max(width, labels.back().size());
  }
  fmt::print("  {:<{}}  {:<26} {:>14} {:>12} {:>8} {:>18}\n", "point", width, "link",
             fmt::format("{} A", to_string(metric)), "B", "B / A", "95 % interval");
  for (std::size_t i = 0; i < pairs.size(); ++i)
    for (const harness::LinkRatio& link : pairs[i].links)
      fmt::print("  {:<{}}  {:<26} {:>14} {:>12} {:>8} {:>18}\n", labels[i], width,
                 link_name(link.link), seconds(link.p50_a_s), seconds(link.p50_b_s),
                 ratio_text(link.ratio), interval_text(link.interval));
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const auto& differences = pairs[i].differences;
    for (std::size_t d = 0; d < std::min(differences.size(), kShownDifferences); ++d)
      fmt::print("  counts differ: {}: {} is {} in A, {} in B\n", labels[i], differences[d].name,
                 differences[d].a.dump(), differences[d].b.dump());
    if (differences.size() > kShownDifferences)
      fmt::print("  counts differ: {}: and {} more\n", labels[i],
                 differences.size() - kShownDifferences);
  }
}

}  // namespace

void print_comparison(const harness::ResultComparison& comparison) {
  const std::size_t pairs = comparison.pairs.size();
  fmt::print("{} pair{}; {} only in A, {} only in B", pairs, pairs == 1 ? "" : "s",
             comparison.only_in_a, comparison.only_in_b);
  if (comparison.without_times > 0)
    fmt::print("; {} without {} times", comparison.without_times, to_string(comparison.metric));
  fmt::print("\n");
  if (pairs == 0) return;
  print_rows(comparison.pairs, comparison.metric);
  const auto is_equal = [](const ResultPair& pair) { return pair.differences.empty(); };
  if (std::ranges::all_of(comparison.pairs, is_equal))
    fmt::print("  operations and bits are equal in all pairs\n");
  fmt::print("  geometric mean of B / A: {} ({})\n", ratio_text(comparison.geometric_mean),
             interval_text(comparison.interval));
}

}  // namespace thinwire::cli
