#include "thinwire/cli/program.hpp"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <exception>

#include "command.hpp"
#include "failure.hpp"
#include "launcher.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/base/text.hpp"
#include "thinwire/harness/heap.hpp"
#include "version.hpp"

namespace thinwire::cli {
namespace {

constexpr std::array kCommands = {
    Command{"run", "one configuration: time, traffic, operations, and an answer for real input",
            run_command},
    Command{"sweep", "a matrix of configurations in one launch; resumes where it stopped",
            sweep_command},
    Command{"predict", "the same records by formula: no MPI, no weights, any number of devices",
            predict_command},
    Command{"eval", "the accuracy of a strategy on a data set, or its agreement with one device",
            eval_command},
    Command{"plan", "the best strategy for given devices, link and budget, by formula",
            plan_command},
    Command{"compare",
            "the records of two files: ratios of times with intervals, counts that differ",
            compare_command},
    Command{"tables", "published cells beside reproduced ones", tables_command},
    Command{"codebook",
            "makes the codebooks of trace and astra from data, or shows what a file holds",
            codebook_command},
    Command{"calibrate",
            "this machine as a device: GFLOP/s by rows, memory, a link's rate and latency",
            calibrate_command},
    Command{"link-check", "the link against its formula, over payload sizes and rates",
            link_check_command},
    Command{"list", "models, strategies, topologies and clocks", list_command}};

void print_overview() {
  fmt::print(
      "thinwire simulates Transformer inference that is split over several devices: every MPI "
      "rank\n"
      "plays one device, and its link is emulated, throttled or real.\n\n"
      "usage: thinwire COMMAND [OPTIONS]     (thinwire COMMAND --help explains a command)\n\n");
  for (const Command& command : kCommands)
    fmt::print("  {:<10} {}\n", command.name, command.summary);
  fmt::print(
      "\nexamples:\n"
      "  thinwire run --strategy prism --devices 3 --segments 10 --rate 200Mbps\n"
      "  thinwire run --strategy voltage --devices 2 --rate 100Mbps..1000Mbps:lin:10\n"
      "  thinwire predict --model bert-base --strategy prism --devices 2,3 --segments 1,9 \\\n"
      "                   --device-gflops 160\n\n"
      "exit status: 0 ok, 1 the run failed, 2 wrong usage or input\n");
}

int dispatch(int argc, char** argv) {
  const std::string_view name = argc > 1 ? argv[1] : "--help";
  if (name == "--help" || name == "-h" || name == "help") {
    print_overview();
    return 0;
  }
  if (name == "--version") {
    fmt::print("thinwire {}\n", kVersion);
    return 0;
  }
  const auto* const command = std::ranges::find(kCommands, name, &Command::name);
  if (command == kCommands.end()) {
    std::array<std::string_view, kCommands.size()> names;
    std::ranges::transform(kCommands, names.begin(), &Command::name);
    throw InputError(fmt::format("unknown command '{}'{}; commands: {}", name,
                                 suggestion(name, names), join(names, ", ")));
  }
  return command->run({argc, argv, {argv + 2, argv + argc}});
}

int guarded_main(int argc, char** argv) {
  // Results may go to stdout (--json -), so nothing else does.
  spdlog::set_default_logger(spdlog::stderr_color_mt("thinwire"));
  try {
    return dispatch(argc, argv);
  } catch (const std::exception& exception) {
    const Failure failure = failure_of(exception);
    if (is_speaker()) fmt::print(stderr, "thinwire: {}\n", failure.message);
    return failure.status;
  }
}

}  // namespace

std::span<const Command> commands() {
  return kCommands;
}

int run_program(int argc, char** argv) {
  // A result file beyond the user's limit is an error to report, as a full disk is.
  std::signal(SIGXFSZ, SIG_IGN);
  limit_thread_spinning(argv);
  harness::return_large_blocks();
  return guarded_main(argc, argv);
}

}  // namespace thinwire::cli
