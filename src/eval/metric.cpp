#include "thinwire/eval/metric.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "thinwire/base/named.hpp"
#include "thinwire/base/random.hpp"
#include "weighted_metric.hpp"

namespace thinwire::eval {
namespace {

struct MetricEntry {
  std::string_view name;
  Metric metric;
};

constexpr std::array kMetrics = {
    MetricEntry{"accuracy", Metric::accuracy},
    MetricEntry{"f1", Metric::f1},
    MetricEntry{"matthews", Metric::matthews},
    MetricEntry{"spearman", Metric::spearman},
    MetricEntry{"pearson", Metric::pearson},
    MetricEntry{"bits_per_byte", Metric::bits_per_byte},
    MetricEntry{"bits_per_character", Metric::bits_per_character},
    MetricEntry{"perplexity", Metric::perplexity},
    MetricEntry{"cloze", Metric::cloze},
    MetricEntry{"accuracy_best_threshold", Metric::accuracy_best_threshold},
    MetricEntry{"f1_best_threshold", Metric::f1_best_threshold},
    MetricEntry{"roc_auc", Metric::roc_auc},
};

constexpr std::uint64_t kResamples = 1000;

/// Draws as many samples as there are, with replacement.
class Resampler {
 public:
  Resampler(std::size_t samples, std::uint64_t seed)
      : stream_("bootstrap", seed), counts_(samples) {}

  /// How often resample `r` has each sample; valid until the next call.
  std::span<const int> operator()(std::uint64_t r) {
    const std::uint64_t samples = counts_.size();
    std::ranges::fill(counts_, 0);
    for (std::uint64_t i = 0; i < samples; ++i)  // 32 random bits scaled to [0, samples)
      ++counts_[((stream_.bits(r * samples + i) >> 32) * samples) >> 32];
    return counts_;
  }

 private:
  RandomStream stream_;
  std::vector<int> counts_;
};

/// Linear between the neighbours in the sorted values, as numpy's percentile.
double quantile(std::span<const double> sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

/// statistic(counts of a resample) -> value
template <class Statistic>
Interval percentile_interval(std::size_t samples, std::uint64_t seed, const Statistic& statistic) {
  Resampler resample(samples, seed);
  std::vector<double> values;
  for (std::uint64_t r = 0; r < kResamples; ++r)
    if (const double value = statistic(resample(r)); !std::isnan(value)) values.push_back(value);
  if (values.empty()) {
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    return {kNone, kNone};
  }
  std::ranges::sort(values);
  return {quantile(values, 0.025), quantile(values, 0.975)};
}

}  // namespace

std::string_view metric_name(Metric metric) {
  return std::ranges::find(kMetrics, metric, &MetricEntry::metric)->name;
}

Metric metric_named(std::string_view name) {
  return find_named("metric", name, kMetrics).metric;
}

bool is_higher_better(std::string_view name) {
  using enum Metric;
  constexpr std::array kLowerBetter = {perplexity, bits_per_byte, bits_per_character};
  return std::ranges::find(kLowerBetter, name, metric_name) == kLowerBetter.end();
}

double metric_value(Metric metric, std::span<const SampleScore> scores) {
  return (*make_weighted_metric(metric, scores))(std::vector<int>(scores.size(), 1));
}

Interval bootstrap_95(Metric metric, std::span<const SampleScore> scores, std::uint64_t seed) {
  const auto value = make_weighted_metric(metric, scores);
  return percentile_interval(scores.size(), seed,
                             [&](std::span<const int> counts) { return (*value)(counts); });
}

Interval bootstrap_change_95(Metric metric, std::span<const SampleScore> ours,
                             std::span<const SampleScore> theirs, std::uint64_t seed) {
  TW_REQUIRE(ours.size() == theirs.size(), "{} samples beside {} of the other run", ours.size(),
             theirs.size());
  const auto our_value = make_weighted_metric(metric, ours);
  const auto their_value = make_weighted_metric(metric, theirs);
  return percentile_interval(ours.size(), seed, [&](std::span<const int> counts) {
    return (*our_value)(counts) - (*their_value)(counts);
  });
}

}  // namespace thinwire::eval
