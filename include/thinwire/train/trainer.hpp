#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "thinwire/compress/codebook_source.hpp"
#include "thinwire/train/calibration_run.hpp"
#include "thinwire/train/codebook_state.hpp"

namespace thinwire::train {

struct TrainingOptions {
  CalibrationSetting setting;
  Index codewords = 1024;  ///< K
  Index groups = 1;        ///< G (astra)
  Update update = Update::ema;
  Index subspace_width = 256;  ///< d_q of Update::subspace; at most hidden / groups
  Index batch = 64;            ///< samples, of all ranks together
  int epochs = 1;
  std::uint64_t seed = 0;
};

/// Throws InputError naming the option: what does not fit the model or the strategy.
void check(const TrainingOptions& options, const model::ModelConfig& config);

/// The calibration inputs, by number: one sequence a sample, or two for pairs.
class SampleSource {
 public:
  virtual ~SampleSource() = default;
  virtual Index samples() const = 0;
  virtual std::vector<model::ModelInput> load(Index sample) const = 0;
  /// Names the data in what is recorded, such as "cifar10_calib.safetensors 0..999".
  virtual std::string name() const = 0;
};

/// Makes a strategy's codebooks from calibration inputs, step by step. First one step a codebook:
/// the first batch runs with the codebooks made so far, k-means on what the next exchange would
/// send makes that one. Then one step a batch, which all codebooks follow (Update). Under several
/// ranks each takes every R-th sample of a batch on simulated devices of its own; what they count
/// is added in rank order, so that all of them hold the same codebooks.
/// Source: METHODS 3.4; TRACE, section IV.
class Trainer {
 public:
  /// Cuts the samples into batches: shuffled by the seed, the first as long as 4 K rows take.
  /// All arguments outlive the trainer. Collective, as all that is not const.
  /// Throws InputError as check() does, and when all samples together have fewer than 4 K rows.
  Trainer(const model::Model& model, TrainingOptions options, const SampleSource& source,
          fabric::Transport& ranks);

  Index steps() const;
  Index steps_done() const { return step_; }
  bool is_done() const { return step_ == steps(); }
  /// Inputs that this rank runs in step `step`: its work, for the time left.
  double work(Index step) const;
  std::string step_name() const;  ///< "codebook 3 of 12", "batch 7 of 20"
  /// `on_part` is told the part of the step that is done, 0 to 1.
  void step(const std::function<void(double)>& on_part);

  /// What decides the result: compared before training is resumed, kept beside the codebooks.
  std::map<std::string, std::string> settings() const;
  /// Everything that the next step needs, to the bit. The file is replaced in one move.
  void save(const std::filesystem::path& file) const;
  /// Throws InputError when `file` belongs to other settings, naming one that differs.
  void resume(const std::filesystem::path& file);

  const compress::CodebookUse& use() const { return use_; }
  Index codewords() const { return options_.codewords; }
  Index layers() const { return model_.config().layers; }  ///< exchanges, coded or not
  /// Of the codebook of an exchange and group; only once its step is done.
  const CodebookState& state(Index exchange, Index group) const;
  /// Rows that have been seen so far, by all ranks; the first batch counts once.
  std::int64_t rows_seen() const { return rows_seen_; }

 private:
  void plan(const SampleSource& source);
  void fit(Index exchange, const std::function<void(double)>& on_part);
  void follow(const std::vector<Index>& batch, const std::function<void(double)>& on_part);
  std::vector<model::ModelInput> inputs_of(const std::vector<Index>& batch) const;
  void run(std::span<const model::ModelInput> inputs,
           std::span<CalibrationObserver* const> observers,
           const std::function<void(double)>& on_part);
  bool has_state(std::size_t number) const { return states_[number].codewords.rows() > 0; }

  const model::Model& model_;
  TrainingOptions options_;
  const SampleSource& source_;
  fabric::Transport& ranks_;
  compress::CodebookUse use_;
  std::vector<Index> exchanges_;             // those that are coded
  std::vector<std::vector<Index>> batches_;  // sample numbers
  std::vector<CodebookState> states_;        // [exchange * groups + group]; empty: not made yet
  std::vector<model::ModelInput> first_batch_;
  std::int64_t rows_seen_ = 0;
  Index step_ = 0;
};

}  // namespace thinwire::train
