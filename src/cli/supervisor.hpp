#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "command.hpp"
#include "sweep_points.hpp"
#include "thinwire/harness/sweep_plan.hpp"

namespace thinwire::cli {

/// Bytes of the result file when the sweep began, where a supervisor started this process.
std::optional<std::int64_t> supervised_since();

/// Runs the pending points in jobs (mpirun with `ranks` ranks, or this program alone for one): a
/// job that ends with a point, by its failure or by a killed rank, is followed by one for the rest.
/// Returns the exit status: 0, 1 when a point failed, 128 + N after signal N, else that of a job
/// that could not run at all.
/// Throws InputError when another command writes the result file.
int supervise(const Arguments& arguments, const SweepPoints& sweep,
              const std::vector<harness::PlannedPoint>& plan, harness::Selection selection,
              int ranks);

}  // namespace thinwire::cli
