#pragma once
#include <vector>

#include "thinwire/harness/expand.hpp"
#include "thinwire/harness/result_file.hpp"
#include "thinwire/harness/session.hpp"

namespace thinwire::harness {

/// The record of a point by formula: no weights, no MPI. Times when device rates are given.
Result predict_point(const Point& point);

/// How a sweep ended.
struct SweepCounts {
  int done = 0, skipped = 0, failed = 0, already_there = 0;
};

/// Runs the points that `file` does not hold yet (finished_ids), appending a record each; points
/// that cannot fit are recorded as skipped, those that fail as failed; a failure among several
/// ranks ends the sweep as an Error once it is recorded. Collective over the session's ranks, all
/// with the same points; `file` is null but on the root. Progress goes to stderr.
SweepCounts run_sweep(Session& session, const std::vector<RunSpec>& points, ResultFile* file);

/// The same by formula, in this process.
SweepCounts predict_sweep(const std::vector<RunSpec>& points, ResultFile& file);

/// Throws InputError for a point that is wrong whatever the sizes, before anything runs.
void check_points(const std::vector<RunSpec>& points);

/// Most ranks that any point needs: the devices, and the terminal.
int most_ranks(const std::vector<RunSpec>& points);

}  // namespace thinwire::harness
