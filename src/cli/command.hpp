#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace thinwire::cli {

/// What stands behind the command's name on the command line.
struct Arguments {
  int argc;  ///< of the whole program, for a restart under mpirun
  char** argv;
  std::vector<std::string> rest;  ///< without program and command
};

/// One line a command: dispatch and the overview of --help come from the list of these.
struct Command {
  std::string_view name, summary;
  int (*run)(const Arguments&);  ///< returns the exit status
};
int run_command(const Arguments& arguments);
int sweep_command(const Arguments& arguments);
int predict_command(const Arguments& arguments);
int plan_command(const Arguments& arguments);
int compare_command(const Arguments& arguments);
int tables_command(const Arguments& arguments);
int codebook_command(const Arguments& arguments);
int calibrate_command(const Arguments& arguments);
int link_check_command(const Arguments& arguments);
int eval_command(const Arguments& arguments);
int list_command(const Arguments& arguments);

}  // namespace thinwire::cli
