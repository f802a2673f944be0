#pragma once
#include <memory>
#include <span>

#include "thinwire/eval/metric.hpp"

namespace thinwire::eval {

/// A metric of fixed scores in which sample i stands counts[i] times. A bootstrap resample is such
/// counts, so that what must be sorted is sorted once.
class WeightedMetric {
 public:
  virtual ~WeightedMetric() = default;
  /// counts [samples], not negative. NaN where the metric has no value.
  virtual double operator()(std::span<const int> counts) const = 0;
};

/// `scores` must outlive what is returned.
std::unique_ptr<WeightedMetric> make_weighted_metric(Metric metric,
                                                     std::span<const SampleScore> scores);

}  // namespace thinwire::eval
