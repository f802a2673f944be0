#include "thinwire/harness/codebook_info.hpp"

#include <filesystem>

#include "calibration_samples.hpp"
#include "given_options.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/harness/progress.hpp"
#include "thinwire/ops/runtime.hpp"
#include "thinwire/train/codebook_quality.hpp"

namespace thinwire::harness {
namespace {

using Metadata = std::map<std::string, std::string, std::less<>>;

std::string metadata_or(const Metadata& metadata, const char* key, const char* otherwise) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? otherwise : found->second;
}

/// What is given, else what the file says about itself, else what most files are.
train::CalibrationSetting setting_of(const CodebookInfoSpec& spec, const Metadata& metadata) {
  return {.strategy = spec.strategy.value_or(metadata_or(metadata, "strategy", "trace-b")),
          .devices = spec.devices.value_or(
              static_cast<int>(parse_integer(metadata_or(metadata, "devices", "2")))),
          .threads = spec.threads};
}

Json storage_of(const CodebookInfoSpec& spec, const compress::CodebookSet& set, Index layers) {
  std::int64_t codebooks = 0;
  std::int64_t buffers = 0;
  for (Index exchange = 0; exchange < layers; ++exchange) {
    if (!set.use().codes(exchange)) continue;
    const std::int64_t columns = set.codebook(exchange).hidden();
    codebooks += set.codewords() * columns * static_cast<std::int64_t>(sizeof(float));
    if (set.use().buffers == compress::Buffers::off) continue;
    buffers +=
        set.buffer(exchange).halves().size() * static_cast<std::int64_t>(sizeof(std::uint16_t));
  }
  return {{"file_bytes", std::filesystem::file_size(spec.file)},
          {"codebooks_bytes", codebooks},
          {"buffers_bytes", buffers}};
}

Json to_json(std::span<const train::ExchangeQuality> qualities) {
  Json rows = Json::array();
  for (const train::ExchangeQuality& quality : qualities)
    rows.push_back({{"exchange", quality.exchange},
                    {"level", quality.level},
                    {"codewords", quality.codewords},
                    {"rows", quality.rows},
                    {"used", quality.used},
                    {"perplexity", quality.perplexity},
                    {"distortion", finite_or_null(quality.distortion)}});
  return rows;
}

Json measure(const CodebookInfoSpec& spec, const model::Model& model,
             const train::CalibrationSetting& setting, const compress::CodebookSet& set,
             compress::CodebookSource& source) {
  const CalibrationSamples samples(spec.model, model.config(), spec.input, spec.samples,
                                   spec.tokens, eval::BytesPart::valid);
  const std::vector<model::ModelInput> inputs = samples.load_all();
  Progress progress({1.0});
  progress.start_point("quality");
  Json rows = to_json(train::measure_quality(model, setting, set, source, inputs,
                                             [&](double part) { progress.advance(part); }));
  progress.finish_point();
  return rows;
}

}  // namespace

CodebookInfoSpec make_info_spec(const std::map<std::string, std::string>& values) {
  const GivenOptions given(values);
  CodebookInfoSpec spec;
  spec.file = given.require("FILE");
  spec.model = given.require("model");
  given.with("strategy", [&](std::string_view name) { spec.strategy = name; });
  given.with("devices",
             [&](std::string_view) { given.integer("devices", spec.devices.emplace()); });
  given.with("groups", [&](std::string_view) { given.integer("groups", spec.groups.emplace()); });
  given.with("input", [&](std::string_view file) { spec.input = file; });
  given.integer("tokens", spec.tokens);
  given.integer("threads", spec.threads);
  if (!spec.input.empty()) given.require("samples");
  given.samples("samples", spec.samples);
  return spec;
}

Json codebook_info(const CodebookInfoSpec& spec) {
  const Point point = make_point(make_run_spec({{"model", spec.model}}));
  require_input(std::filesystem::is_regular_file(spec.file), "codebook {} is not a file",
                spec.file);
  const Metadata metadata = SafetensorsFile(spec.file).metadata();
  const train::CalibrationSetting setting = setting_of(spec, metadata);
  const compress::CodebookUse use = train::codebook_use(
      setting, spec.groups.value_or(parse_integer(metadata_or(metadata, "groups", "1"))));

  ops::set_threads(spec.threads);
  const auto weights = open_weights(point.spec, point.config);
  const model::Model model(point.config, *weights, {std::pmr::new_delete_resource()});
  const auto source = compress::open_codebooks(spec.file, point.config, use, model.fingerprint());
  const compress::CodebookSet set(model, use, *source, {std::pmr::new_delete_resource()});

  Json info = {{"file", std::filesystem::path(spec.file).filename().string()},
               {"strategy", setting.strategy},
               {"devices", setting.devices},
               {"groups", use.groups},
               {"codewords", set.codewords()},
               {"levels", std::vector<Index>(set.levels().begin(), set.levels().end())},
               {"exchanges", point.config.layers - (use.codes_first_exchange ? 0 : 1)},
               {"storage", storage_of(spec, set, point.config.layers)},
               {"calibration_s", set.calibration_s()},
               {"metadata", metadata}};
  if (!spec.input.empty()) info["quality"] = measure(spec, model, setting, set, *source);
  return info;
}

}  // namespace thinwire::harness
