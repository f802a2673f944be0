#include "command.hpp"
#include "options.hpp"
#include "sweep_launch.hpp"
#include "sweep_points.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/harness/sweep_runner.hpp"

namespace thinwire::cli {
namespace {

constexpr const char* kUsage =
    "usage: thinwire sweep [SPEC.json] --json FILE [OPTIONS]\n\n"
    "Runs a matrix of configurations and appends a record a point to FILE. Started again, it "
    "skips\n"
    "the points that FILE holds. SPEC.json has \"base\" (options of all points), \"matrix\" "
    "(option:\n"
    "list or range, all combinations), \"points\" (explicit ones) and \"exclude\" (points to leave "
    "out,\n"
    "such as {\"strategy\": \"prism\", \"devices\": [6, 8]}); lists and ranges can be given as "
    "options as\n"
    "well. Outside mpirun it starts the ranks itself, and again for the rest when a point takes "
    "its\n"
    "ranks down; such a point is recorded as failed, with the reason.\n\n"
    "examples:\n"
    "  thinwire sweep experiments/paper/prism-tables.json --json results/prism.jsonl\n"
    "  thinwire sweep --strategy prism --devices 2,3,6 --compression-rate 2..10 --rate 100Mbps \\\n"
    "                 --json results/cr.jsonl\n"
    "  thinwire sweep --strategy trace-b,trace-nb --devices 2,3 --level 0..4 --rate 10Mbps \\\n"
    "                 --json results/levels.jsonl\n"
    "  thinwire sweep --strategy astra,trace-b --devices 2 --rate 10Mbps --repeat 0..4 \\\n"
    "                 --json results/rounds.jsonl         (every point five times, in turn)\n"
    "  thinwire sweep SPEC.json --json FILE --dry-run     (what is done, failed, left to run)\n"
    "  thinwire sweep SPEC.json --json FILE --only failed --point-timeout 5min\n\n"
    "exit status: 0 ok, 1 a point failed, 2 wrong usage or input\n";

}  // namespace

int sweep_command(const Arguments& arguments) {
  OptionParser parser(kUsage);
  add_sweep_options(parser);
  parser.add_run_fields();
  const OptionParser::Parsed parsed = parser.parse(arguments.rest);
  if (parsed.is_help) return 0;

  const SweepPoints sweep = sweep_points(parsed);
  require_input(parsed.is_on("dry-run") || !sweep.json.empty(),
                "--json is needed: the file that records are appended to");
  const int ranks = harness::most_ranks(sweep.points);
  return launch_sweep(arguments, parsed, sweep, {.started = ranks, .needed = ranks});
}

}  // namespace thinwire::cli
