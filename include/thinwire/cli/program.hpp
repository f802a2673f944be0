#pragma once

namespace thinwire::cli {

/// The program `thinwire`: reads the command from `argv`, runs it and returns the exit status (0
/// ok, 1 the run failed, 2 wrong usage or input). Throws nothing; messages go to stderr. For main,
/// once a process: it may start the process anew, or under mpirun, with the same arguments.
int run_program(int argc, char** argv);

}  // namespace thinwire::cli
