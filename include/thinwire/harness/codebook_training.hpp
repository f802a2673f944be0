#pragma once
#include <map>
#include <string>

#include "thinwire/base/json_fwd.hpp"
#include "thinwire/harness/run_spec.hpp"
#include "thinwire/harness/session.hpp"
#include "thinwire/train/codebook_output.hpp"

namespace thinwire::harness {

/// One training of codebooks: filled, checked, then only read.
struct CodebookTrainingSpec {
  std::string model, input;  ///< folder or preset; data file (its `train` part for bytes)
  SampleRange samples;
  Index tokens = 0;  ///< of a window of bytes; 0: as many as the model's position table
  train::TrainingOptions training;
  train::OutputOptions output;
  std::string out;
  bool resumes = false;
};

/// From options by name, without dashes. Throws InputError: "--devices=two: <why>".
CodebookTrainingSpec make_training_spec(const std::map<std::string, std::string>& given);

/// What a training came to.
struct TrainingSummary {
  std::int64_t tokens = 0;
  double seconds = 0;
  bool was_complete = false;  ///< the file was there already, made with the same settings
};

/// Trains on all ranks of the session, with progress on stderr. After every step the state is kept
/// in OUT.state, from which `resumes` goes on; it is removed when OUT is written.
/// Throws InputError for what cannot be: settings, samples, places, another training's state.
TrainingSummary train_codebooks(Session& session, const CodebookTrainingSpec& spec);

}  // namespace thinwire::harness
