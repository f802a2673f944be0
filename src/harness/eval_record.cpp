#include "eval_record.hpp"

#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <numbers>
#include <numeric>
#include <optional>

#include "thinwire/base/error.hpp"
#include "thinwire/harness/eval_data.hpp"

namespace thinwire::harness {
namespace {

Json interval_json(const eval::Interval& interval) {
  return {finite_or_null(interval.low), finite_or_null(interval.high)};
}

/// Mean over samples of what all devices sent.
double bits_per_inference(const Point& point, std::span<const DeviceCounts> counts) {
  std::int64_t bits = 0;
  for (const DeviceCounts& device : counts) bits += device.sent_bits();
  const int inputs = point.predictions.front().inputs;  // a pipeline's iteration answers several
  return static_cast<double>(bits) / inputs / static_cast<double>(point.data->samples.count());
}

/// N of the sequences, and how many samples are too short to run as the spec says.
Json tokens_json(const Point& point) {
  const std::vector<Formation> formations = make_formations(point.spec, point.lengths);
  Index sum = 0, sequences = 0, most = 0, least = 0, fewer_devices = 0, fewer_segments = 0;
  for (const std::vector<Index>& sample : point.data->tokens) {
    bool has_fewer_devices = false, has_fewer_segments = false;
    for (const Index tokens : sample) {
      const RunSpec& spec = formation_of(formations, tokens).spec;
      has_fewer_devices |= spec.devices != point.spec.devices;
      has_fewer_segments |= spec.segments != point.spec.segments;
      sum += tokens;
      most = std::max(most, tokens);
      least = sequences == 0 ? tokens : std::min(least, tokens);
      ++sequences;
    }
    fewer_devices += has_fewer_devices ? 1 : 0;
    fewer_segments += has_fewer_segments ? 1 : 0;
  }
  return {{"mean", static_cast<double>(sum) / static_cast<double>(sequences)},
          {"min", least},
          {"max", most},
          {"samples_on_fewer_devices", fewer_devices},
          {"samples_with_fewer_segments", fewer_segments}};
}

/// Beside the metric asked for, what else the data gives.
Json other_metrics(const Point& point, std::span<const eval::SampleScore> scores) {
  Json others = Json::object();
  for (const eval::Metric metric : point.data->metrics)
    if (const std::string name(eval::metric_name(metric)); name != point.spec.metric)
      others[name] = finite_or_null(eval::metric_value(metric, scores));
  return others;
}

using Figure = double SampleAgreement::*;

std::vector<double> figures(std::span<const SampleAgreement> samples, Figure figure) {
  std::vector<double> values;
  for (const SampleAgreement& sample : samples) values.push_back(sample.*figure);
  return values;
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Of every hidden state, over the real rows of the first samples.
Json hidden_json(const Point& point, std::span<const double> hidden) {
  const auto width = static_cast<std::size_t>(hidden_width(point.config));
  std::vector<double> sums(width);
  for (std::size_t i = 0; i < hidden.size(); ++i) sums[i % width] += hidden[i];
  Json cosines = Json::array();
  for (std::size_t i = 0; i + 1 < width; ++i)
    cosines.push_back(finite_or_null(sums[i] / sums.back()));
  return cosines;
}

/// What this point's metric is computed of: the data's scores, or agreements in their place.
struct Measure {
  std::optional<eval::Metric> metric;  ///< nothing: the mean of `values`
  std::vector<double> values;          ///< one a sample

  double value(std::span<const eval::SampleScore> scores) const {
    return metric ? eval::metric_value(*metric, scores) : mean(values);
  }
  eval::Interval interval(std::span<const eval::SampleScore> scores, std::uint64_t seed) const {
    if (metric) return eval::bootstrap_95(*metric, scores, seed);
    // Bits per byte is a mean when every sample has one byte.
    std::vector<eval::SampleScore> means;
    for (const double value : values)
      means.push_back({.loss = value * std::numbers::ln2, .bytes = 1});
    return eval::bootstrap_95(eval::Metric::bits_per_byte, means, seed);
  }
};

Measure measure_of(const Point& point, const EvaluationFindings& findings) {
  if (point.spec.metric == kAgreementMetric)
    return {{}, figures(findings.agreements, &SampleAgreement::top1)};
  if (point.spec.metric == kCosineMetric)
    return {{}, figures(findings.agreements, &SampleAgreement::cosine)};
  return {eval::metric_named(point.spec.metric), {}};
}

/// The metric's change against the single device, over the same resamples.
void add_change(Json& section, const Point& point, const EvaluationFindings& findings,
                const Measure& measure) {
  section["change"] = nullptr;
  section["change_interval_95"] = nullptr;
  if (!measure.metric) return;
  section["change"] = finite_or_null(eval::metric_value(*measure.metric, findings.scores) -
                                     eval::metric_value(*measure.metric, findings.single_scores));
  section["change_interval_95"] = interval_json(eval::bootstrap_change_95(
      *measure.metric, findings.scores, findings.single_scores, point.spec.seed));
}

Json agreement_json(const Point& point, const EvaluationFindings& findings,
                    const Measure& measure) {
  const std::span<const SampleAgreement> samples = findings.agreements;
  const auto mean_of = [&](Figure figure) {
    return finite_or_null(mean(figures(samples, figure)));
  };
  const auto largest = [&](Figure figure) {
    return finite_or_null(std::ranges::max(figures(samples, figure)));
  };
  Json section = {{"top1", mean_of(&SampleAgreement::top1)},
                  {"kl_divergence", mean_of(&SampleAgreement::kl_divergence)},
                  {"output_cosine", mean_of(&SampleAgreement::cosine)},
                  {"hidden_cosine", hidden_json(point, findings.hidden)},
                  {"hidden_samples", std::min<Index>(std::ssize(samples), kHiddenSamples)},
                  {"largest_relative_difference", largest(&SampleAgreement::relative_difference)},
                  {"largest_lost_margin", largest(&SampleAgreement::lost_margin)}};
  add_change(section, point, findings, measure);
  return section;
}

/// Frames of fixed indices, by formula, of all samples together, [layers].
std::vector<double> fixed_frame_bits(const Point& point, const compress::CodebookUse& use) {
  const std::vector<Formation> formations = make_formations(point.spec, point.lengths);
  std::map<Index, std::vector<std::int64_t>> of_length;
  for (const Index tokens : point.lengths) {
    IndexCodingBounds bounds;
    add_bounds(bounds, formation_of(formations, tokens).spec, point.config, tokens);
    of_length[tokens] = frame_bits(bounds.fixed.front(), use);
  }
  std::vector<double> sums(static_cast<std::size_t>(point.config.layers));
  for (const std::vector<Index>& sample : point.data->tokens)
    for (const Index tokens : sample)
      std::ranges::transform(sums, of_length.at(tokens), sums.begin(), std::plus{});
  return sums;
}

/// Tokens that devices publish in an exchange, of all samples together.
double published_tokens(const Point& point) {
  const Index copied = point.spec.class_token == strategy::ClassToken::replicated ? 1 : 0;
  Index tokens = 0;
  for (const std::vector<Index>& sample : point.data->tokens)
    for (const Index length : sample) tokens += length > 1 ? length - copied : 0;
  return static_cast<double>(tokens);
}

/// Frames of the exchanges that are coded, headers and padding included: the mean and the most that
/// a sample takes, and each exchange's bits a token; beside what fixed indices take.
Json index_coding_json(const Point& point, std::span<const double> bits) {
  const compress::CodebookUse use = *codebook_use(point.spec);
  const auto layers = static_cast<std::size_t>(point.config.layers);
  const std::vector<double> fixed = fixed_frame_bits(point, use);
  const double tokens = published_tokens(point);
  std::vector<double> samples, exchanges(layers);
  for (std::size_t i = 0; i < bits.size(); ++i) {
    if (i % layers == 0) samples.push_back(0);
    samples.back() += bits[i];
    exchanges[i % layers] += bits[i];
  }
  Json coded_token = Json::array(), fixed_token = Json::array();
  for (std::size_t e = 0; e < layers; ++e) {
    const bool is_coded = use.codes(static_cast<Index>(e));
    coded_token.push_back(is_coded ? finite_or_null(exchanges[e] / tokens) : Json(nullptr));
    fixed_token.push_back(is_coded ? finite_or_null(fixed[e] / tokens) : Json(nullptr));
  }
  const double fixed_mean =
      std::accumulate(fixed.begin(), fixed.end(), 0.0) / static_cast<double>(samples.size());
  return {{"coding", to_string(point.spec.index_coding)},
          {"mean_bits", mean(samples)},
          {"most_bits", std::ranges::max(samples)},
          {"fixed_mean_bits", fixed_mean},
          {"ratio", finite_or_null(mean(samples) / fixed_mean)},
          {"bits_per_token", std::move(coded_token)},
          {"fixed_bits_per_token", std::move(fixed_token)}};
}

}  // namespace

Json accuracy_section(const Point& point, const EvaluationFindings& findings) {
  const Measure measure = measure_of(point, findings);
  const std::span<const eval::SampleScore> scores = findings.scores;
  Json section = {{"metric", point.spec.metric},
                  {"value", finite_or_null(measure.value(scores))},
                  {"samples", point.data->samples.count()},
                  {"interval_95", interval_json(measure.interval(scores, point.spec.seed))},
                  {"also", other_metrics(point, scores)},
                  {"bits_per_inference", bits_per_inference(point, findings.counts)},
                  {"tokens", tokens_json(point)}};
  if (!findings.frame_bits.empty())
    section["index_coding"] = index_coding_json(point, findings.frame_bits);
  if (point.spec.wants_agreement()) section["agreement"] = agreement_json(point, findings, measure);
  return section;
}

void append_scores(const std::filesystem::path& file, const Point& point, const Result& result,
                   const EvaluationFindings& findings) {
  Json line = {{"id", to_json(result).at("id")},
               {"strategy", point.spec.strategy},
               {"devices", point.spec.devices},
               {"metric", point.spec.metric},
               {"samples", {point.data->samples.first, point.data->samples.last}}};
  const auto add = [&](const char* name, auto eval::SampleScore::*member) {
    if (findings.scores.empty()) return;
    Json& values = line[name] = Json::array();
    for (const eval::SampleScore& score : findings.scores) values.push_back(score.*member);
  };
  const bool has_classes = !findings.scores.empty() && findings.scores.front().classes > 0;
  const bool has_losses = !findings.scores.empty() && findings.scores.front().predictions > 0;
  if (has_classes) add("label", &eval::SampleScore::label);
  if (has_classes) add("predicted", &eval::SampleScore::predicted);
  if (!has_losses) add("prediction", &eval::SampleScore::prediction);
  if (!has_losses) add("target", &eval::SampleScore::target);
  if (has_losses) add("loss", &eval::SampleScore::loss);
  if (has_losses) add("predictions", &eval::SampleScore::predictions);
  if (has_losses) add("bytes", &eval::SampleScore::bytes);
  if (has_losses) add("characters", &eval::SampleScore::characters);
  if (point.spec.wants_agreement()) {
    Json& top1 = line["top1"] = Json::array();
    for (const SampleAgreement& sample : findings.agreements)
      top1.push_back(finite_or_null(sample.top1));
  }
  std::ofstream stream(file, std::ios::app);
  stream << line.dump() + "\n" << std::flush;
  if (!stream.good()) throw Error(fmt::format("--scores={}: cannot be written", file.string()));
}

}  // namespace thinwire::harness
