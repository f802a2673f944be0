#include <algorithm>

#include "log_sum_exp.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/eval/answer.hpp"
#include "thinwire/eval/metric.hpp"

namespace thinwire::eval {
namespace {

using model::HeadKind;

bool is_classifier(const model::ModelConfig& config) {
  return config.head == HeadKind::class_token || config.head == HeadKind::pooler;
}

/// Data sets whose answers are kept secret have -1.
void check_label(const Sample& sample, Index classes) {
  require_input(*sample.label >= 0 && *sample.label < classes,
                "label {} of a sample (0..{} is right)", *sample.label, classes - 1);
}

std::int32_t largest(std::span<const float> logits) {
  return static_cast<std::int32_t>(std::ranges::max_element(logits) - logits.begin());
}

/// -ln p of the tokens [begin, end), each from those before it; padding neither predicts nor
/// counts.
struct Loss {
  double nats = 0;
  Index predictions = 0, characters = 0;
};
Loss token_loss(const model::ModelInput& input, MatrixView<const float> logits, Index begin,
                Index end) {
  Loss loss;
  for (Index t = std::max<Index>(begin, 1); t < end; ++t) {
    if (!input.is_real(t) || !input.is_real(t - 1)) continue;
    const std::int32_t id = input.ids[static_cast<std::size_t>(t)];
    const auto row = logits.row(t - 1);
    loss.nats += log_sum_exp(row) - double{row[static_cast<std::size_t>(id)]};
    ++loss.predictions;
    const bool continues_character = (id & 0xC0) == 0x80;  // UTF-8
    if (!continues_character) ++loss.characters;
  }
  return loss;
}

SampleScore score_classes(const Sample& sample, const model::ModelConfig& config,
                          std::span<const float> logits) {
  SampleScore score;
  if (config.is_regression()) {
    score.prediction = double{logits[0]};
    score.target = double{*sample.score};
    return score;
  }
  score.classes = static_cast<std::int32_t>(config.labels);
  score.label = *sample.label;
  score.predicted = largest(logits);
  return score;
}

SampleScore score_pair(const Sample& sample, std::span<const MatrixView<const float>> outputs) {
  SampleScore score;
  score.prediction = cosine(outputs[0].row(0), outputs[1].row(0));
  if (sample.score) score.target = double{*sample.score};
  if (sample.label) {
    score.classes = 2;
    score.label = *sample.label;
  }
  return score;
}

SampleScore score_text(const Sample& sample, MatrixView<const float> logits) {
  const model::ModelInput& input = sample.sequences.front();
  const Loss loss = token_loss(input, logits, 1, std::ssize(input.ids));
  SampleScore score;
  score.loss = loss.nats;
  score.predictions = loss.predictions;
  score.bytes = sample.is_bytes ? loss.predictions : sample.bytes.value_or(0);
  score.characters = sample.is_bytes ? loss.characters : sample.characters.value_or(0);
  return score;
}

/// The candidate under which the scored tokens are likeliest. Loss and counts are the right one's.
SampleScore score_cloze(const Sample& sample, std::span<const MatrixView<const float>> outputs) {
  SampleScore score;
  score.classes = static_cast<std::int32_t>(sample.sequences.size());
  score.label = *sample.label;
  double least = 0;
  for (std::int32_t c = 0; c < score.classes; ++c) {
    const auto i = static_cast<std::size_t>(c);
    const auto [begin, end] = sample.candidates[i];
    const Loss loss = token_loss(sample.sequences[i], outputs[i], begin, end);
    if (c == 0 || loss.nats < least) {
      least = loss.nats;
      score.predicted = c;
    }
    if (c != score.label) continue;
    score.loss = loss.nats;
    score.predictions = loss.predictions;
  }
  return score;
}

std::vector<Metric> classifier_metrics(const Sample& sample, const model::ModelConfig& config) {
  require_input(
      sample.sequences.size() == 1,
      "{} classifies one sequence, not {} (a pair belongs in one row, its second sentence "
      "with token_type_ids 1)",
      config.name, sample.sequences.size());
  if (config.is_regression()) {
    require_input(sample.score.has_value(),
                  "{} has one output: its data needs score (float32, one a sample)", config.name);
    return {Metric::spearman, Metric::pearson};
  }
  require_input(sample.label.has_value(),
                "{} tells {} classes apart: its data needs label (int32, one a sample)",
                config.name, config.labels);
  check_label(sample, config.labels);
  return {Metric::accuracy, Metric::f1, Metric::matthews};
}

std::vector<Metric> pair_metrics(const Sample& sample, const model::ModelConfig& config) {
  require_input(
      sample.sequences.size() == 2 && (sample.score || sample.label),
      "{} gives embeddings: its data needs pairs (half as many of score or label as rows)",
      config.name);
  std::vector<Metric> metrics;
  if (sample.score) metrics = {Metric::spearman, Metric::pearson};
  if (sample.label) {
    check_label(sample, 2);
    metrics.insert(metrics.end(),
                   {Metric::accuracy_best_threshold, Metric::f1_best_threshold, Metric::roc_auc});
  }
  return metrics;
}

std::vector<Metric> language_metrics(const Sample& sample, const model::ModelConfig& config) {
  if (!sample.candidates.empty()) {
    check_label(sample, std::ssize(sample.sequences));
    return {Metric::cloze};
  }
  require_input(sample.sequences.size() == 1,
                "{} predicts the tokens of one sequence, not of {} (the candidates of a cloze need "
                "candidate_begin)",
                config.name, sample.sequences.size());
  std::vector<Metric> metrics;
  if (sample.is_bytes || sample.bytes) metrics.push_back(Metric::bits_per_byte);
  if (sample.is_bytes || sample.characters) metrics.push_back(Metric::bits_per_character);
  metrics.push_back(Metric::perplexity);
  return metrics;
}

}  // namespace

std::vector<Metric> metrics_for(const Sample& sample, const model::ModelConfig& config) {
  if (config.head == HeadKind::language_model) return language_metrics(sample, config);
  if (is_classifier(config)) return classifier_metrics(sample, config);
  return pair_metrics(sample, config);
}

SampleScore score_sample(const Sample& sample, const model::ModelConfig& config,
                         std::span<const MatrixView<const float>> outputs) {
  TW_REQUIRE(outputs.size() == sample.sequences.size(), "{} outputs for {} sequences",
             outputs.size(), sample.sequences.size());
  metrics_for(sample, config);  // refuses what cannot be scored
  if (config.head == HeadKind::language_model)
    return sample.candidates.empty() ? score_text(sample, outputs.front())
                                     : score_cloze(sample, outputs);
  if (is_classifier(config)) return score_classes(sample, config, outputs.front().row(0));
  return score_pair(sample, outputs);
}

}  // namespace thinwire::eval
