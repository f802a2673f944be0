#pragma once
#include <filesystem>
#include <span>
#include <vector>

#include "eval_agreement.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/eval/metric.hpp"
#include "thinwire/harness/eval_replica.hpp"
#include "thinwire/harness/point.hpp"
#include "thinwire/harness/record.hpp"

namespace thinwire::harness {

/// What all ranks together found out about a point.
struct EvaluationFindings {
  std::vector<eval::SampleScore> scores;         ///< one a sample; none without labels
  std::vector<eval::SampleScore> single_scores;  ///< the single device's; none without agreement
  std::vector<SampleAgreement> agreements;       ///< one a sample; none without agreement
  std::vector<double> hidden;         ///< hidden_width() values of each of the first samples
  std::vector<double> frame_bits;     ///< coded frames: layers values a sample; else none
  std::vector<DeviceCounts> counts;   ///< [P] over all samples
  std::vector<DeviceCounts> longest;  ///< [P] of the longest sample
};

/// The "accuracy" section of a record.
Json accuracy_section(const Point& point, const EvaluationFindings& findings);

/// Appends a line to `file`: {"id" of the record, "strategy", "devices", "metric", "samples":
/// [first, last], and lists with one value a sample of what its scores hold}.
/// Throws Error when it cannot be written.
void append_scores(const std::filesystem::path& file, const Point& point, const Result& result,
                   const EvaluationFindings& findings);

}  // namespace thinwire::harness
