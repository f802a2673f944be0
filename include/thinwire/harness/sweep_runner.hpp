#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "thinwire/harness/expand.hpp"
#include "thinwire/harness/result_file.hpp"
#include "thinwire/harness/session.hpp"
#include "thinwire/harness/sweep_plan.hpp"

namespace thinwire::harness {

/// The record of a point by formula: no weights, no MPI. Times when device rates are given.
Result predict_point(const Point& point);
/// The same; a file that `fingerprints` knows is not hashed again.
Result predict_point(const Point& point, FingerprintCache& fingerprints);

/// How a sweep ended.
struct SweepCounts {
  int done = 0, skipped = 0, failed = 0, already_there = 0;
};

struct SweepOptions {
  Selection selection = Selection::unfinished;
  /// Bytes of the result file when the sweep began, if an earlier job of it may have run points.
  std::optional<std::int64_t> since;
  Seconds point_timeout{};  ///< a point that takes longer fails; 0: none does
  PointWork work = timing();
  FingerprintCache fingerprints;  ///< the root's, of what planning has hashed
  /// Hears every record on the root, when it is in the file; may be empty.
  std::function<void(const Json& record)> on_record;
};

/// Runs the points that are pending (sweep_plan.hpp), appending a record each; points that cannot
/// fit are recorded as skipped, those that fail as failed, by whichever rank knows why. A failure
/// among several ranks, or one of a deadline or watchdog, ends the job once it is recorded.
/// Collective over the session's ranks, all with the same points; `plan` and `file` are the root's
/// (null on the others, or where records are only told to on_record). Progress goes to stderr.
SweepCounts run_sweep(Session& session, const std::vector<RunSpec>& points,
                      const std::vector<PlannedPoint>& plan, ResultFile* file,
                      const SweepOptions& options);

/// What a sweep that began when the file had `since` bytes has recorded.
SweepCounts counts_since(const std::vector<PlannedPoint>& plan, const ResultFile& file,
                         std::int64_t since);

/// Records points by formula, in this process; those that `file` holds are left out.
SweepCounts predict_sweep(const std::vector<RunSpec>& points, const std::vector<PlannedPoint>& plan,
                          ResultFile& file);

/// Most ranks that any point needs: the devices, and the terminal.
int most_ranks(const std::vector<RunSpec>& points);

}  // namespace thinwire::harness
