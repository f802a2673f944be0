#include "thinwire/harness/codebook_info.hpp"

#include <filesystem>

#include "calibration_samples.hpp"
#include "codebook_setting.hpp"
#include "given_options.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/compress/index_tables.hpp"
#include "thinwire/harness/progress.hpp"
#include "thinwire/ops/runtime.hpp"
#include "thinwire/train/codebook_quality.hpp"

namespace thinwire::harness {
namespace {

/// Of all tables of indices, in the file or in memory.
std::int64_t index_tables_bytes(const compress::CodebookSet& set, Index layers,
                                std::int64_t (compress::IndexTables::*of)() const) {
  std::int64_t bytes = 0;
  if (!set.has_index_tables()) return bytes;
  for (Index exchange = 0; exchange < layers; ++exchange)
    for (int level = 0; set.use().codes(exchange) && level < std::ssize(set.levels()); ++level)
      for (const compress::IndexTables& tables : set.index_tables(exchange, level))
        bytes += (tables.*of)();
  return bytes;
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
  return {
      {"file_bytes", std::filesystem::file_size(spec.file)},
      {"codebooks_bytes", codebooks},
      {"buffers_bytes", buffers},
      {"index_tables_bytes", index_tables_bytes(set, layers, &compress::IndexTables::memory_bytes)},
      {"index_tables_file_bytes",
       index_tables_bytes(set, layers, &compress::IndexTables::file_bytes)}};
}

/// What the tables expect of an index, exchange after exchange, on every level: mean over groups.
Json index_bits_of(const compress::CodebookSet& set, Index layers) {
  using compress::IndexCoding;
  Json rows = Json::array();
  for (Index exchange = 0; exchange < layers; ++exchange)
    for (int level = 0; set.use().codes(exchange) && level < std::ssize(set.levels()); ++level) {
      double entropy = 0, cross_layer = 0;
      const auto tables = set.index_tables(exchange, level);
      for (const compress::IndexTables& group : tables) {
        entropy += index_cost(group, IndexCoding::entropy).expected_bits;
        cross_layer += index_cost(group, compress::coding_of(IndexCoding::cross_layer, set.use(),
                                                             exchange, false))
                           .expected_bits;
      }
      const auto groups = static_cast<double>(tables.size());
      const Index codewords = set.levels()[static_cast<std::size_t>(level)];
      rows.push_back({{"exchange", exchange},
                      {"level", level},
                      {"codewords", codewords},
                      {"fixed", compress::index_bits(codewords)},
                      {"entropy", entropy / groups},
                      {"cross_layer", cross_layer / groups}});
    }
  return rows;
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
  const auto [setting, use, metadata] =
      setting_of_file(spec.file, {spec.strategy, spec.devices, spec.groups, spec.threads});

  ops::set_threads(spec.threads);
  const auto weights = open_weights(point.spec, point.config);
  const model::Model model(point.config, *weights, {std::pmr::new_delete_resource()});
  const auto source = compress::open_codebooks(spec.file, point.config, use, model.fingerprint());
  const compress::CodebookSet set(
      model, use, *source, {std::pmr::new_delete_resource()},
      source->has_index_tables() ? compress::WithIndexTables::yes : compress::WithIndexTables::no);

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
  if (set.has_index_tables()) info["index_bits"] = index_bits_of(set, point.config.layers);
  if (!spec.input.empty()) info["quality"] = measure(spec, model, setting, set, *source);
  return info;
}

}  // namespace thinwire::harness
