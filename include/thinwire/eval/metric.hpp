#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "thinwire/eval/sample.hpp"
#include "thinwire/tensor/matrix_view.hpp"

namespace thinwire::eval {

/// What a data set's answers are summed up to; formulas in docs/data-files.md.
enum class Metric {
  accuracy,
  f1,        ///< of class 1 with two classes, the mean over the classes that occur with more
  matthews,  ///< correlation of two or more classes
  spearman,  ///< ranks averaged on ties
  pearson,
  bits_per_byte,
  bits_per_character,
  perplexity,
  cloze,                    ///< share of samples whose likeliest candidate is the right one
  accuracy_best_threshold,  ///< pairs by cosine, the threshold chosen on the scored pairs
  f1_best_threshold,
  roc_auc,  ///< of pairs by cosine: no threshold
};

/// "accuracy", "bits_per_byte", ... as in records and options.
std::string_view metric_name(Metric metric);
/// Throws InputError with the known names and a suggestion.
Metric metric_named(std::string_view name);
/// False for perplexity and bits; true for any other name, as of shares that are counted elsewhere.
bool is_higher_better(std::string_view name);

/// What one sample contributes to any metric: plain values that ranks can send each other.
struct SampleScore {
  std::int32_t predicted = -1, label = -1;  ///< classes, or candidates of a cloze
  std::int32_t classes = 0;                 ///< how many there are
  double prediction = 0, target = 0;        ///< a pair's cosine or a regression, and its score
  double loss = 0;                          ///< nats, summed over `predictions` tokens
  Index predictions = 0, bytes = 0, characters = 0;
};

/// Scores one sample.
///   outputs  one a sequence: logits [1, labels], embedding [1, hidden], logits [N, vocabulary]
/// Throws InputError where metrics_for does.
SampleScore score_sample(const Sample& sample, const model::ModelConfig& config,
                         std::span<const MatrixView<const float>> outputs);

/// The metrics that this kind of sample gives with this model; the first is the default.
/// Throws InputError that says what is missing when nothing can be scored, and for a label outside
/// the classes.
std::vector<Metric> metrics_for(const Sample& sample, const model::ModelConfig& config);

/// NaN where the metric has no value: no samples, a correlation of fewer than two different values,
/// a ROC curve of one class.
double metric_value(Metric metric, std::span<const SampleScore> scores);

struct Interval {
  double low = 0, high = 0;
};

/// Percentile bootstrap over samples, 95 %, 1000 resamples drawn from `seed`, the same on every
/// platform; resamples without a value are left out, none left gives NaN.
/// Cost: 1000 passes over the scores, sorted once.
Interval bootstrap_95(Metric metric, std::span<const SampleScore> scores, std::uint64_t seed);

/// The same of value(ours) - value(theirs), both over the same resampled samples.
/// Throws Error unless both have the same samples.
Interval bootstrap_change_95(Metric metric, std::span<const SampleScore> ours,
                             std::span<const SampleScore> theirs, std::uint64_t seed);

}  // namespace thinwire::eval
