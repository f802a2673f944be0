#pragma once
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "thinwire/base/json.hpp"
#include "thinwire/base/operations.hpp"
#include "thinwire/cost/workload.hpp"
#include "thinwire/fabric/fabric.hpp"
#include "thinwire/harness/chosen_levels.hpp"
#include "thinwire/harness/codebook_choice.hpp"
#include "thinwire/harness/index_coding_bounds.hpp"
#include "thinwire/harness/run_spec.hpp"

namespace thinwire::harness {

/// Name and version of the records; a changed meaning gets a new number.
inline constexpr std::string_view kResultSchema = "thinwire.result/1";

enum class Source { measured, predicted };
std::string_view to_string(Source source);

enum class Status {
  ok,
  failed,   ///< ended with an error; a restarted sweep tries again
  skipped,  ///< cannot fit (memory, L > n_p)
};
std::string_view to_string(Status status);

/// [link][iteration][device], behind the devices the terminal if there is one.
using Times = std::vector<std::vector<std::vector<fabric::LinkTimes>>>;
/// [iteration][exchange] of the first sequence: local compute between publishing and waiting, in
/// seconds, of the device with the least.
using Windows = std::vector<std::vector<double>>;

/// What making the buffers of a codebook set took, once, apart from every pass.
struct Calibration {
  Operations operations;
  double time_s = std::numeric_limits<double>::quiet_NaN();
};

/// Points of a sweep whose computing was measured in one execution that carried all their links;
/// the times of each are the virtual clock's under its own.
struct SharedExecution {
  int points = 0;
  std::string first_id;  ///< of the records, which names the execution
};

/// What one point showed. Only `spec` and `source` are needed for a point that did not run;
/// whatever is empty or NaN becomes null in the record.
struct Result {
  RunSpec spec;
  Source source = Source::measured;
  Status status = Status::ok;
  std::string reason;  ///< of a status other than ok
  std::string model_fingerprint;
  std::vector<Index> tokens;  ///< N of each sequence of an iteration

  std::vector<cost::Prediction> predictions;  ///< one a sequence of an iteration
  IndexCodingBounds coding_bounds;            ///< with them, predicted bits are expectations
  std::optional<CodebookChoice> codebook;     ///< of strategies that have one
  std::optional<Calibration> calibration;     ///< measured

  /// Of all samples of a data set together, or where a formula gives bounds alone; nothing:
  /// compared for the iteration below.
  std::optional<bool> counted_equals_predicted;
  std::string data_fingerprint;

  FramesByBits frames{};  ///< all devices', where a controller chooses levels

  // Counted in one iteration; empty in predicted records. Where a controller chooses levels, the
  // first iteration's.
  std::vector<Operations> operations;    ///< [P]
  std::vector<fabric::Traffic> traffic;  ///< [P]
  std::vector<std::int64_t> link_bits;   ///< [link]
  /// Where packets are dropped: in an iteration, or in all samples of a data set.
  std::optional<fabric::LossCounts> losses;
  /// [link] sent again in an iteration, mean; where packets are retransmitted, else empty.
  std::vector<double> repeated_packets;
  std::vector<std::int64_t> held_bytes;      ///< [P] workspace that the allocators hold
  std::vector<std::int64_t> resident_bytes;  ///< [P] private memory of the process
  std::optional<std::int64_t> shared_bytes;  ///< what a node holds once: weights, codebooks
  std::optional<Operations> terminal_operations;
  std::optional<fabric::Traffic> terminal_traffic;

  /// A modelled prediction has one iteration, without device rates none.
  Times times;
  Windows windows_s;
  double setup_s = std::numeric_limits<double>::quiet_NaN();
  double emulation_overhead = std::numeric_limits<double>::quiet_NaN();
  std::optional<bool> contended;  ///< wall clocks: more threads than cores
  std::optional<SharedExecution> shared_execution;

  Json answer;       ///< what the model said about the input
  Json accuracy;     ///< of a data set
  Json agreement;    ///< comparisons with the single device
  Json environment;  ///< environment.hpp
};

/// The record of ARCHITECTURE 6, one JSON object.
Json to_json(const Result& result);

/// A record without figures, for a point that failed or cannot fit.
Result unfinished(RunSpec spec, Source source, Status status, std::string reason);

}  // namespace thinwire::harness
