#include "thinwire/harness/codebook_coding.hpp"

#include <filesystem>
#include <memory>

#include "add_index_tables.hpp"
#include "calibration_samples.hpp"
#include "codebook_setting.hpp"
#include "given_options.hpp"
#include "thinwire/harness/progress.hpp"
#include "thinwire/ops/runtime.hpp"
#include "thinwire/train/index_counts.hpp"

namespace thinwire::harness {
namespace {

using Metadata = std::map<std::string, std::string, std::less<>>;

std::string metadata_or(const Metadata& metadata, const char* key, const char* otherwise) {
  const auto found = metadata.find(key);
  return found == metadata.end() ? otherwise : found->second;
}

}  // namespace

FileSetting setting_of_file(const std::string& file, const GivenSetting& given) {
  require_input(std::filesystem::is_regular_file(file), "codebook {} is not a file", file);
  FileSetting result;
  result.metadata = SafetensorsFile(file).metadata();
  result.setting = {
      .strategy = given.strategy.value_or(metadata_or(result.metadata, "strategy", "trace-b")),
      .devices = given.devices.value_or(
          static_cast<int>(parse_integer(metadata_or(result.metadata, "devices", "2")))),
      .threads = given.threads};
  result.use = train::codebook_use(
      result.setting,
      given.groups.value_or(parse_integer(metadata_or(result.metadata, "groups", "1"))));
  return result;
}

void add_index_tables(Session& session, const Point& point, const UsedCodebooks& codebooks,
                      const train::SampleSource& samples, const FromTo& files) {
  const auto& [setting, use] = codebooks;
  ops::set_threads(setting.threads);
  const model::Model& model = session.model_for(point);
  const auto source = compress::open_codebooks(files.from, point.config, use, model.fingerprint());
  const compress::CodebookSet set(model, use, *source, {std::pmr::new_delete_resource()});
  std::unique_ptr<Progress> progress;
  if (session.is_root()) progress = std::make_unique<Progress>(std::vector<double>{1.0});
  if (progress) progress->start_point("tables of indices");
  const train::IndexCounts counts =
      train::count_indices(model, setting, set, samples, session.everyone(), [&](double part) {
        if (progress) progress->advance(part);
      });
  if (!session.is_root()) return;
  train::write_index_tables(files.from, counts,
                            {{"index_tables", fmt::format("{} on {} devices, {}", setting.strategy,
                                                          setting.devices, samples.name())}},
                            files.to);
  progress->finish_point();
}

CodebookCodingSpec make_coding_spec(const std::map<std::string, std::string>& values) {
  const GivenOptions given(values);
  CodebookCodingSpec spec;
  spec.file = given.require("FILE");
  spec.model = given.require("model");
  spec.input = given.require("input");
  given.require("samples");
  given.samples("samples", spec.samples);
  given.with("strategy", [&](std::string_view name) { spec.strategy = name; });
  given.with("devices",
             [&](std::string_view) { given.integer("devices", spec.devices.emplace()); });
  given.with("groups", [&](std::string_view) { given.integer("groups", spec.groups.emplace()); });
  given.integer("tokens", spec.tokens);
  given.integer("threads", spec.threads);
  spec.out = spec.file;
  given.with("out", [&](std::string_view file) { spec.out = file; });
  return spec;
}

void add_index_coding(Session& session, const CodebookCodingSpec& spec) {
  const Point point = make_point(make_run_spec({{"model", spec.model}}));
  const auto [setting, use, metadata] =
      setting_of_file(spec.file, {spec.strategy, spec.devices, spec.groups, spec.threads});
  const CalibrationSamples samples(spec.model, point.config, spec.input, spec.samples, spec.tokens,
                                   eval::BytesPart::train);
  add_index_tables(session, point, {setting, use}, samples, {.from = spec.file, .to = spec.out});
  session.everyone().meet();
}

}  // namespace thinwire::harness
