#include "thinwire/harness/point.hpp"

#include <algorithm>
#include <filesystem>

#include "thinwire/base/error.hpp"
#include "thinwire/harness/auto_partition.hpp"
#include "thinwire/harness/check_spec.hpp"

namespace thinwire::harness {

model::ModelConfig resolve_config(const RunSpec& spec) {
  const bool is_checkpoint =
      !model::is_preset(spec.model) && std::filesystem::is_directory(spec.model);
  model::ModelConfig config =
      is_checkpoint ? model::open_checkpoint(spec.model).config : model::preset(spec.model);
  if (config.is_text()) config.tokens = default_tokens(spec, config);
  // Random weights: the position table is made as long as it must be.
  if (config.is_text() && !is_checkpoint)
    config.max_tokens = std::max(config.max_tokens, config.tokens);
  return config;
}

namespace {

eval::Sample resolve_sample(const Point& point) {
  if (point.spec.input.empty()) {
    eval::Sample sample;
    sample.sequences.push_back(
        model::random_input(point.config, point.config.tokens, point.spec.seed));
    return sample;
  }
  return eval::load_sample(point.spec.input, point.spec.sample, point.config, point.preprocessing,
                           point.spec.tokens);
}

}  // namespace

Point make_point(RunSpec spec) {
  FingerprintCache fingerprints;
  return make_point(std::move(spec), fingerprints);
}

Point make_point(RunSpec spec, FingerprintCache& fingerprints) {
  require_input(spec.data.empty(), "--data={}: only `eval` evaluates data sets (--input is right)",
                spec.data);
  Point point;
  point.spec = std::move(spec);
  point.config = resolve_config(point.spec);
  if (!point.spec.input.empty())
    point.preprocessing = eval::preprocessing_for(
        point.config, model::is_preset(point.spec.model) ? "" : point.spec.model);
  check_options(point.spec, &point.config);
  point.codebook = resolve_codebook(point.spec, point.config, fingerprints);
  point.sample = resolve_sample(point);

  for (const model::ModelInput& sequence : point.sample.sequences) {
    model::check_input(sequence, point.config);
    const Index tokens = sequence.tokens(point.config);
    require_input(point.spec.tokens == 0 || point.spec.tokens == tokens,
                  "--tokens={} with --input={}: sample {} has {} (leave --tokens away)",
                  point.spec.tokens, point.spec.input, point.spec.sample, tokens);
    if (std::ranges::find(point.lengths, tokens) == point.lengths.end())
      point.lengths.push_back(tokens);
    if (point.predictions.empty()) resolve_rows(point.spec, point.config, tokens);
    if (const auto reason = misfit(point.spec, point.config, tokens)) {
      point.skip_reason = *reason;
      point.predictions.clear();
      point.coding_bounds = {};
      return point;
    }
    point.predictions.push_back(cost::predict(to_workload(point.spec, point.config, tokens)));
    add_bounds(point.coding_bounds, point.spec, point.config, tokens);
  }
  return point;
}

void require_fit(const Point& point) {
  require_input(point.skip_reason.empty(), "{}", point.skip_reason);
}

std::string folder_fingerprint(const RunSpec& spec, FingerprintCache& fingerprints) {
  if (model::is_preset(spec.model)) return "";
  return fingerprints.get(
      spec.model, [&] { return model::open_checkpoint(spec.model).weights->fingerprint(); });
}

std::unique_ptr<model::WeightSource> open_weights(const RunSpec& spec,
                                                  const model::ModelConfig& config) {
  if (model::is_preset(spec.model)) return model::random_weights(config, spec.seed);
  return model::open_checkpoint(spec.model).weights;
}

}  // namespace thinwire::harness
