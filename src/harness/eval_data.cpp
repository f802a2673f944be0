#include "thinwire/harness/eval_data.hpp"

#include <algorithm>
#include <set>

#include "thinwire/base/error.hpp"
#include "thinwire/base/text.hpp"
#include "thinwire/model/weight_source.hpp"

namespace thinwire::harness {
namespace {

std::vector<std::vector<Index>> lengths_of(const eval::DataFile& file, const SampleRange& range) {
  std::vector<std::vector<Index>> tokens;
  for (Index sample = range.first; sample <= range.last; ++sample)
    tokens.push_back(file.tokens_of(sample));
  return tokens;
}

SampleRange resolve_range(const RunSpec& spec, Index samples) {
  require_input(samples > 0, "--data={}: no samples", spec.data);
  const SampleRange range = spec.samples.value_or(SampleRange{0, samples - 1});
  require_input(range.last < samples, "--samples={}..{}: {} has {} (0..{} is right)", range.first,
                range.last, spec.data, samples, samples - 1);
  return range;
}

std::vector<eval::Metric> metrics_of(const eval::Sample& sample, const model::ModelConfig& config) {
  try {
    return eval::metrics_for(sample, config);
  } catch (const InputError&) {
    return {};  // without labels: agreement can still be told
  }
}

}  // namespace

std::vector<Index> DataSet::lengths() const {
  std::set<Index> lengths;
  for (const std::vector<Index>& sample : tokens) lengths.insert(sample.begin(), sample.end());
  return {lengths.begin(), lengths.end()};
}

Index DataSet::longest() const {
  const auto total = [](const std::vector<Index>& sample) {
    Index sum = 0;
    for (const Index length : sample) sum += length;
    return sum;
  };
  return samples.first + (std::ranges::max_element(tokens, {}, total) - tokens.begin());
}

std::shared_ptr<const DataSet> DataSets::get(const RunSpec& spec, const model::ModelConfig& config,
                                             FingerprintCache& fingerprints) {
  const std::string range =
      spec.samples ? fmt::format("{}..{}", spec.samples->first, spec.samples->last) : "";
  const std::string key = fmt::format("{}|{}|{}|{}", spec.data, spec.model, spec.tokens, range);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;

  const auto file = std::make_shared<const eval::DataFile>(
      spec.data, config,
      eval::preprocessing_for(config, model::is_preset(spec.model) ? "" : spec.model), spec.tokens);
  DataSet set{.file = file, .samples = resolve_range(spec, file->samples())};
  set.fingerprint = fingerprints.get("data " + spec.data, [&] { return file->fingerprint(); });
  const eval::Sample first = file->load(set.samples.first);
  require_input(spec.tokens == 0 || first.is_bytes || !config.is_text(),
                "--tokens={} with --data={}: its samples have lengths of their own (only bytes are "
                "cut in windows)",
                spec.tokens, spec.data);
  set.metrics = metrics_of(first, config);
  set.tokens = lengths_of(*file, set.samples);
  return known_.emplace(key, std::make_shared<const DataSet>(std::move(set))).first->second;
}

void resolve_metric(RunSpec& spec, const DataSet& data, const model::ModelConfig& config) {
  const bool has_classes = config.head != model::HeadKind::mean_pooling;
  const std::string own(has_classes ? kAgreementMetric : kCosineMetric);
  if (spec.metric.empty())
    spec.metric = data.metrics.empty() || model::is_preset(spec.model)
                      ? own
                      : std::string(eval::metric_name(data.metrics.front()));
  std::vector<std::string_view> names;
  for (const eval::Metric metric : data.metrics) names.push_back(eval::metric_name(metric));
  names.push_back(own);
  require_input(std::ranges::find(names, spec.metric) != names.end(),
                "--metric={} with --data={}: its samples give {}{}", spec.metric, spec.data,
                join(names, ", "), suggestion(spec.metric, names));
  if (spec.metric == own) spec.agreement = true;
}

}  // namespace thinwire::harness
