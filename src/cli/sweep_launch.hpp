#pragma once
#include "command.hpp"
#include "options.hpp"
#include "sweep_points.hpp"
#include "thinwire/harness/sweep_runner.hpp"

namespace thinwire::cli {

/// The word SPEC and the options of all commands that run a sweep of points: which of them, and how
/// long each may take.
void add_sweep_options(OptionParser& parser);

struct SweepRanks {
  int started = 1;  ///< outside mpirun
  int needed = 1;   ///< under the user's mpirun, at least
};

/// Plans the points, then prints them (--dry-run) or runs them: here under the user's mpirun, else
/// in jobs under a supervisor where the result file can be read back. Without a result file all
/// points run, and records are only told to `on_record`.
///   on_record  hears every record on the root; may be empty
/// Returns the exit status.
int launch_sweep(const Arguments& arguments, const OptionParser::Parsed& parsed,
                 const SweepPoints& sweep, SweepRanks ranks,
                 const harness::PointWork& work = harness::timing(),
                 const std::function<void(const Json&)>& on_record = {});

}  // namespace thinwire::cli
