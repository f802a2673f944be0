#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "thinwire/eval/sample.hpp"
#include "thinwire/harness/codebook_training.hpp"

namespace thinwire::harness {

/// A range of samples of a data file, read one by one when asked for.
class CalibrationSamples final : public train::SampleSource {
 public:
  /// model: folder or preset, for its preprocessing.   part: which bytes, where there are bytes
  /// Throws InputError when the last of the samples does not exist or fit.
  CalibrationSamples(const std::string& model, const model::ModelConfig& config, std::string input,
                     SampleRange range, Index tokens, eval::BytesPart part);

  Index samples() const override { return range_.last - range_.first + 1; }
  std::vector<model::ModelInput> load(Index sample) const override;
  std::string name() const override;
  /// All sequences of all samples.
  std::vector<model::ModelInput> load_all() const;

 private:
  const model::ModelConfig& config_;
  eval::Preprocessing preprocessing_;
  std::string input_;
  SampleRange range_;
  Index tokens_;
  eval::BytesPart part_;
};

}  // namespace thinwire::harness
