#include <charconv>

#include "thinwire/base/text.hpp"
#include "thinwire/train/trainer.hpp"

namespace thinwire::train {
namespace {

constexpr const char* kFormat = "thinwire.training/1";

std::string prefix_of(std::size_t number) {
  return fmt::format("state.{}", number);
}

std::int64_t metadata_integer(const SafetensorsFile& file, const char* key) {
  const auto found = file.metadata().find(key);
  std::int64_t value = 0;
  require_input(
      found != file.metadata().end() &&
          std::from_chars(found->second.data(), found->second.data() + found->second.size(), value)
                  .ec == std::errc(),
      "{}: no training state (metadata {} is missing)", file.path().string(), key);
  return value;
}

void require_settings(const SafetensorsFile& file,
                      const std::map<std::string, std::string>& settings) {
  for (const auto& [key, value] : settings) {
    const auto found = file.metadata().find(key);
    const std::string was = found == file.metadata().end() ? "absent" : found->second;
    require_input(was == value,
                  "{}: belongs to a training with another {} ({}, now {}); leave --resume away to "
                  "start anew",
                  file.path().string(), key, was, value);
  }
}

}  // namespace

std::map<std::string, std::string> Trainer::settings() const {
  const TrainingOptions& o = options_;
  return {
      {"model_fingerprint", model_.fingerprint()},
      {"strategy", o.setting.strategy},
      {"devices", std::to_string(o.setting.devices)},
      {"codewords", std::to_string(o.codewords)},
      {"groups", std::to_string(o.groups)},
      {"update", std::string(to_string(o.update))},
      {"subspace_width", o.update == Update::subspace ? std::to_string(o.subspace_width) : "none"},
      {"samples", source_.name()},
      {"batch", std::to_string(o.batch)},
      {"epochs", std::to_string(o.epochs)},
      {"seed", std::to_string(o.seed)},
      {"ranks", std::to_string(ranks_.size())}};
}

void Trainer::save(const std::filesystem::path& file) const {
  SafetensorsWriter writer;
  writer.add_metadata("format", kFormat);
  for (const auto& [key, value] : settings()) writer.add_metadata(key, value);
  writer.add_metadata("steps_done", std::to_string(step_));
  writer.add_metadata("rows_seen", std::to_string(rows_seen_));
  for (std::size_t number = 0; number < states_.size(); ++number)
    if (has_state(number)) states_[number].save(writer, prefix_of(number));
  writer.write(file);
}

void Trainer::resume(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  require_settings(file, settings());
  const std::int64_t step = metadata_integer(file, "steps_done");
  require_input(step >= 0 && step <= steps(), "{}: {} steps are done of {}", path.string(), step,
                steps());
  for (std::size_t number = 0; number < states_.size(); ++number)
    if (file.has(prefix_of(number) + ".codewords"))
      states_[number] = CodebookState::load(file, prefix_of(number));
  rows_seen_ = metadata_integer(file, "rows_seen");
  step_ = step;
}

}  // namespace thinwire::train
