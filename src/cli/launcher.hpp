#pragma once
#include <functional>

#include "command.hpp"
#include "thinwire/harness/session.hpp"

namespace thinwire::cli {

/// libgomp reads how long idle threads spin when it is loaded, so the program starts itself anew
/// with a short spin unless the user has chosen one. Long spinning would take the cores from the
/// device whose turn it is; none at all would cost every parallel region a wake-up.
void limit_thread_spinning(char** argv);

/// True on the rank that speaks for all (rank 0, or a process without a launcher).
bool is_speaker();

/// The words that start this command again: under mpirun with `ranks` ranks, or alone for one.
///   variable  of the environment, to be handed to all ranks; none when empty
std::vector<std::string> job_command(const Arguments& arguments, int ranks,
                                     const std::string& variable = {});

/// Starts this command again under mpirun with `ranks` ranks; does not return.
/// Throws InputError when there is no mpirun.
[[noreturn]] void restart_under_mpirun(const Arguments& arguments, int ranks);

/// Runs `work` on the ranks of this launch and returns its exit status. Fewer ranks than `ranks`
/// are a user's fault; an exception on one of several ranks ends them all with its message.
int with_session(const Arguments& arguments, int ranks,
                 const std::function<int(harness::Session&)>& work);

}  // namespace thinwire::cli
