#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "thinwire/base/json.hpp"

namespace thinwire::harness {

/// Which time of the records is compared.
enum class Metric { latency, compute, wait };
/// Throws InputError with a suggestion for an unknown name.
Metric metric_from(std::string_view name);
std::string_view to_string(Metric metric);

/// 95 % of the bootstrap's ratios lie between these.
struct Interval {
  double low, high;
};

/// B over A under one link setting.
struct LinkRatio {
  Json link;                        ///< as in records
  double p50_a_s = 0, p50_b_s = 0;  ///< of the pooled samples
  std::int64_t samples_a = 0, samples_b = 0;
  std::optional<double> ratio;       ///< nothing when A's median is 0
  std::optional<Interval> interval;  ///< nothing with fewer than two samples on a side
};

/// A count that two runs of one point should agree on.
struct CountDifference {
  std::string name;  ///< "operations/total_flops"
  Json a, b;
};

/// What both files hold of one point.
struct ResultPair {
  Json spec;  ///< A's, without `repeat`
  std::vector<LinkRatio> links;
  std::vector<CountDifference> differences;
};

struct ResultComparison {
  Metric metric = Metric::latency;
  std::vector<ResultPair> pairs;  ///< in A's order
  int only_in_a = 0, only_in_b = 0;
  int without_times = 0;                 ///< pairs of which a file has no such time
  std::optional<double> geometric_mean;  ///< of all ratios
  std::optional<Interval> interval;      ///< of the geometric mean
};

/// Pairs the ok records of two files that have one id, or one spec but for `repeat`; samples of
/// all records of a point are pooled. Intervals resample each side's samples 2,000 times
/// (percentile bootstrap of the ratio of medians); equal input and seed give equal intervals.
ResultComparison compare_results(const std::vector<Json>& a, const std::vector<Json>& b,
                                 Metric metric, std::uint64_t seed);

/// {"schema": "thinwire.comparison/1", "metric", "pairs": [...], "geometric_mean", ...}
Json to_json(const ResultComparison& comparison);

}  // namespace thinwire::harness
