#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "thinwire/eval/data_file.hpp"
#include "thinwire/eval/metric.hpp"
#include "thinwire/harness/fingerprint_cache.hpp"
#include "thinwire/harness/run_spec.hpp"
#include "thinwire/model/model_config.hpp"

namespace thinwire::harness {

/// The samples of a point, as far as is known before they run.
struct DataSet {
  std::shared_ptr<const eval::DataFile> file;
  std::string fingerprint;  ///< of the file
  SampleRange samples;
  std::vector<std::vector<Index>> tokens;  ///< [sample - first][sequence]: N
  std::vector<eval::Metric> metrics;       ///< that its labels allow; the first is the default

  const std::vector<Index>& tokens_of(Index sample) const {
    return tokens.at(static_cast<std::size_t>(sample - samples.first));
  }
  /// N of the sequences, each once, ascending.
  std::vector<Index> lengths() const;
  /// The first of those with the most tokens in all.
  Index longest() const;
};

/// Data sets by what decides them: the points of an evaluation share a few.
class DataSets {
 public:
  /// Throws InputError for a file or a range of samples that cannot be.
  std::shared_ptr<const DataSet> get(const RunSpec& spec, const model::ModelConfig& config,
                                     FingerprintCache& fingerprints);

 private:
  std::map<std::string, std::shared_ptr<const DataSet>> known_;
};

/// Fills metric and agreement: the data's default metric for a checkpoint. Without labels, and for
/// random weights, how often the answer is the single device's ("agreement"; of embeddings, which
/// choose nothing, the cosine: "output_cosine").
/// Throws InputError for a metric that the data does not give.
void resolve_metric(RunSpec& spec, const DataSet& data, const model::ModelConfig& config);

/// Metrics that need no labels.
inline constexpr std::string_view kAgreementMetric = "agreement", kCosineMetric = "output_cosine";

}  // namespace thinwire::harness
