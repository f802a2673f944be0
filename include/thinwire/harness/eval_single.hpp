#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thinwire/eval/metric.hpp"
#include "thinwire/harness/eval_replica.hpp"
#include "thinwire/harness/point.hpp"

namespace thinwire::harness {

/// What the single device says about a sample.
struct SingleAnswer {
  std::vector<SequenceOutputs> outputs;    ///< one a sequence
  std::optional<eval::SampleScore> score;  ///< nothing where the data has no labels
};

/// The single device, asked about samples of a data set. It works out each answer once and keeps it
/// from point to point as far as its memory goes; the rest it works out anew for every point.
class SingleDevice {
 public:
  /// The samples to come are of this point and of these lengths; what was kept is forgotten unless
  /// model and data are the same. `model` and `watchdog` outlive the calls of answer().
  ///   most_bytes  of outputs and hidden states that are kept
  void begin(const model::Model& model, const Point& point, std::vector<Index> lengths,
             std::int64_t most_bytes, fabric::Watchdog& watchdog);
  /// Valid until the next call. On the calling thread, with its number of threads.
  const SingleAnswer& answer(Index number, const eval::Sample& sample, bool wants_hidden);

 private:
  SingleAnswer work_out(const eval::Sample& sample, bool wants_hidden);

  std::int64_t most_bytes_ = 0, kept_bytes_ = 0;
  std::string key_;
  std::map<Index, SingleAnswer> kept_;
  SingleAnswer latest_;
  const model::Model* model_ = nullptr;
  bool is_scored_ = false;
  std::unique_ptr<fabric::Transport> alone_;
  std::unique_ptr<fabric::Fabric> fabric_;
  std::unique_ptr<strategy::Strategy> single_;
};

}  // namespace thinwire::harness
