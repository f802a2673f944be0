#pragma once
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "support/golden.hpp"
#include "thinwire/train/trainer.hpp"

namespace thinwire::train {

inline const std::filesystem::path kModels = test::kGoldenFolder / "models";

/// Seeded random inputs of a tiny model, padded at the end when asked for.
class RandomSamples final : public SampleSource {
 public:
  RandomSamples(const model::ModelConfig& config, Index samples, Index padding = 0)
      : config_(config), samples_(samples), padding_(padding) {}
  Index samples() const override { return samples_; }
  std::vector<model::ModelInput> load(Index sample) const override {
    model::ModelInput input =
        model::random_input(config_, config_.tokens, static_cast<std::uint64_t>(sample));
    if (padding_ > 0) {
      input.real.assign(input.ids.size(), 1);
      std::fill_n(input.real.rbegin(), padding_, std::uint8_t{0});
    }
    std::vector<model::ModelInput> sequences;
    sequences.push_back(std::move(input));
    return sequences;
  }
  std::vector<model::ModelInput> load_all() const {
    std::vector<model::ModelInput> inputs;
    for (Index sample = 0; sample < samples_; ++sample)
      inputs.push_back(std::move(load(sample).front()));
    return inputs;
  }
  std::string name() const override { return fmt::format("random 0..{}", samples_ - 1); }

 private:
  const model::ModelConfig& config_;
  Index samples_, padding_;
};

inline TrainingOptions tiny_options(const char* strategy = "trace-b") {
  TrainingOptions options;
  options.setting.strategy = strategy;
  options.codewords = 16;
  options.batch = 4;
  options.epochs = 2;
  options.seed = 11;
  return options;
}

inline void run_to_end(Trainer& trainer) {
  while (!trainer.is_done()) trainer.step({});
}

}  // namespace thinwire::train
