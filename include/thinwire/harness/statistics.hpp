#pragma once
#include <span>
#include <vector>

#include "thinwire/base/json_fwd.hpp"

namespace thinwire::harness {

/// What is reported about a repeated measurement (ACCOUNTING 6), in the unit of the samples.
struct Summary {
  double min = 0, mean = 0;
  double sd = 0;  ///< of the sample (n - 1); NaN for a single sample
  double p50 = 0, p90 = 0, p99 = 0;
  double max = 0;
  std::vector<double> samples;  ///< in the order in which they were taken
};

/// Every figure is NaN when there is no sample.
Summary summarize(std::vector<double> samples);

/// The value below which `percent` of the samples lie, with linear interpolation between
/// neighbours: position percent/100 * (n - 1).   sorted, not empty
double percentile(std::span<const double> sorted, double percent);

/// {"min", "mean", "sd", "p50", "p90", "p99", "max", "samples"}; null where there is no figure.
Json to_json(const Summary& summary);

}  // namespace thinwire::harness
