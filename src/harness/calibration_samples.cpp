#include "calibration_samples.hpp"

#include <utility>

namespace thinwire::harness {

CalibrationSamples::CalibrationSamples(const std::string& model, const model::ModelConfig& config,
                                       std::string input, SampleRange range, Index tokens,
                                       eval::BytesPart part)
    : config_(config),
      preprocessing_(
          eval::preprocessing_for(config, model::is_preset(model) ? std::string() : model)),
      input_(std::move(input)),
      range_(range),
      tokens_(tokens),
      part_(part) {
  load(samples() - 1);
}

std::vector<model::ModelInput> CalibrationSamples::load(Index sample) const {
  return eval::load_sample(input_, range_.first + sample, config_, preprocessing_, tokens_, part_)
      .sequences;
}

std::vector<model::ModelInput> CalibrationSamples::load_all() const {
  std::vector<model::ModelInput> inputs;
  for (Index sample = 0; sample < samples(); ++sample)
    for (model::ModelInput& sequence : load(sample)) inputs.push_back(std::move(sequence));
  return inputs;
}

std::string CalibrationSamples::name() const {
  const std::string window = tokens_ > 0 ? fmt::format(" by {} tokens", tokens_) : std::string();
  return fmt::format("{} {}..{}{}", std::filesystem::path(input_).filename().string(), range_.first,
                     range_.last, window);
}

}  // namespace thinwire::harness
