#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "thinwire/base/operations.hpp"
#include "thinwire/eval/sample.hpp"
#include "thinwire/fabric/fabric.hpp"
#include "thinwire/fabric/watchdog.hpp"
#include "thinwire/harness/chosen_levels.hpp"
#include "thinwire/harness/eval_formation.hpp"
#include "thinwire/harness/run_device.hpp"
#include "thinwire/tensor/matrix.hpp"

namespace thinwire::harness {

/// What one device did and sent.
struct DeviceCounts {
  Operations operations;
  std::int64_t payload_bits = 0, header_bits = 0, padding_bits = 0, wire_bytes = 0;
  fabric::LossCounts losses = {};
  FramesByBits frames{};  ///< where a controller chooses levels

  DeviceCounts& operator+=(const DeviceCounts& other);
  bool operator==(const DeviceCounts&) const = default;
  std::int64_t sent_bits() const { return payload_bits + header_bits + padding_bits; }
};

/// What all devices together made of one sequence.
struct SequenceOutputs {
  Matrix<float> values;               ///< logits [1, labels] or [N, vocabulary], embedding [1, D]
  std::vector<Matrix<float>> hidden;  ///< layers + 1 of [N, D] when asked for, else none
  /// [layers] of all devices' payloads, an exchange each, when asked for, else none; 0 unless the
  /// strategy splits the tokens.
  std::vector<std::int64_t> published_bits;
};

/// Room for a sample's outputs, with hidden states and published bits if they are wanted.
std::vector<SequenceOutputs> make_room(const eval::Sample& sample, const model::ModelConfig& config,
                                       bool wants_hidden, bool wants_bits = false);
std::vector<MatrixView<const float>> views_of(std::span<const SequenceOutputs> outputs);

/// A sequence and the place for what becomes of it.
struct SequenceTask {
  const model::ModelInput* input;
  SequenceOutputs* outputs;
  std::uint64_t number = 0;  ///< which inference of the data set it is
};
/// This device's pass of several sequences, within an iteration of its fabric: puts what it has of
/// each into its place. `frames` counts what is published. Nobody looks into passes of which only
/// the answer is wanted.
void run_tasks(strategy::Strategy& strategy, fabric::Fabric& fabric,
               std::span<const SequenceTask> tasks, FrameCounter* frames = nullptr);

struct EvaluatedSample {
  Index number = 0;  ///< in the data file
  const eval::Sample& sample;
  std::span<const SequenceOutputs> outputs;  ///< one a sequence
};

/// Sequences that go through the weights together: as many as give matrix products rows enough to
/// be fast, while workspace and outputs of all of them stay within tens of MB.
///   longest  most tokens of a sequence
int batch_for(const model::ModelConfig& config, Index longest);

/// What a replica works on. All functions are called on one thread at a time, while no device
/// computes.
struct ReplicaWork {
  std::span<const Index> samples;  ///< numbers in the data file, in this order
  int batch = 1;                   ///< most sequences at once; a sample with more goes in parts
  std::function<eval::Sample(Index)> load;
  std::function<bool(Index)> wants_hidden;
  bool wants_bits = false;  ///< the published ones of every sequence
  /// Whether a sample is to be counted by itself.
  std::function<bool(Index)> is_alone;
  std::function<void(const EvaluatedSample&)> on_sample;
  /// What the devices [P] did for one sample that is alone, or for several together.
  std::function<void(std::span<const DeviceCounts>, bool is_alone)> on_counts;
  /// Modelled times [P][link] of what on_counts tells; needed for timed evaluations alone.
  std::function<void(std::span<const std::vector<fabric::LinkTimes>>)> on_times = {};
};

/// Plays all devices of a point as threads of this process, which take turns. Strategies are made
/// once, for the sequence lengths that `formations` list. `watchdog` hears what devices do.
/// Throws what the first device that failed threw.
///   returns  bytes that each device's workspace holds, [P]
std::vector<std::int64_t> run_replica(const Shared& shared, const RunSpec& spec,
                                      std::span<const Formation> formations,
                                      const ReplicaWork& work, fabric::Watchdog& watchdog);

}  // namespace thinwire::harness
