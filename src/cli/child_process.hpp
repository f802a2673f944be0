#pragma once
#include <string>
#include <vector>

namespace thinwire::cli {

/// How a child process ended.
struct ChildEnd {
  int status = 0;           ///< its exit status; 128 + N when signal N killed it
  int stopped_by = 0;       ///< the signal that this process was asked to stop with meanwhile, or 0
  std::string stderr_tail;  ///< the last few kB of what it said there
};

/// Runs a command and waits for its end, with standard input empty and standard output shared.
/// SIGINT, SIGTERM and SIGHUP to this process become one SIGTERM to the child, which is in a
/// process group of its own (mpirun takes a second signal for impatience and leaves its ranks
/// alone), and SIGKILL ten seconds later. A child does not outlive this process.
///   reads_stderr  pass what it says there through a pipe and keep the end of it; else it inherits
///                 standard error (and may find a terminal there)
/// Throws InputError when the command cannot be started.
ChildEnd run_child(const std::vector<std::string>& command, bool reads_stderr);

}  // namespace thinwire::cli
