#include "thinwire/harness/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "thinwire/base/error.hpp"
#include "thinwire/base/json.hpp"

namespace thinwire::harness {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

double deviation(std::span<const double> samples, double mean) {
  if (samples.size() < 2) return kNaN;
  double squares = 0;
  for (const double sample : samples) squares += (sample - mean) * (sample - mean);
  return std::sqrt(squares / static_cast<double>(samples.size() - 1));
}

}  // namespace

double percentile(std::span<const double> sorted, double percent) {
  TW_REQUIRE(!sorted.empty(), "a percentile of no samples");
  const double position = percent / 100 * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

Summary summarize(std::vector<double> samples) {
  if (samples.empty()) return {kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, kNaN, {}};
  std::vector<double> sorted = samples;
  std::ranges::sort(sorted);
  // Summed in ascending order, so that the mean does not depend on the order of the samples.
  const double mean =
      std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size());
  return {.min = sorted.front(),
          .mean = mean,
          .sd = deviation(sorted, mean),
          .p50 = percentile(sorted, 50),
          .p90 = percentile(sorted, 90),
          .p99 = percentile(sorted, 99),
          .max = sorted.back(),
          .samples = std::move(samples)};
}

Json to_json(const Summary& summary) {
  Json samples = Json::array();
  for (const double sample : summary.samples) samples.push_back(finite_or_null(sample));
  return {{"min", finite_or_null(summary.min)}, {"mean", finite_or_null(summary.mean)},
          {"sd", finite_or_null(summary.sd)},   {"p50", finite_or_null(summary.p50)},
          {"p90", finite_or_null(summary.p90)}, {"p99", finite_or_null(summary.p99)},
          {"max", finite_or_null(summary.max)}, {"samples", std::move(samples)}};
}

}  // namespace thinwire::harness
