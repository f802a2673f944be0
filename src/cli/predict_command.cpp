#include "command.hpp"
#include "launcher.hpp"
#include "options.hpp"
#include "print_result.hpp"
#include "sweep_points.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/harness/result_claim.hpp"
#include "thinwire/harness/sweep_runner.hpp"

namespace thinwire::cli {
namespace {

constexpr const char* kUsage =
    "usage: thinwire predict [SPEC.json] [--json FILE] [OPTIONS]\n\n"
    "Makes the records of `run` or `sweep` by formula: operations, traffic and memory, and times "
    "when\n"
    "--device-gflops says how fast devices are. Needs no MPI, no weights and no cores; takes the "
    "same\n"
    "options and documents, and any number of devices.\n\n"
    "examples:\n"
    "  thinwire predict --strategy prism --devices 2,3,6,10 --segments 10 --device-gflops 160 \\\n"
    "                   --rate 200Mbps\n"
    "  thinwire predict --strategy trace-b --devices 2,3,6,10 --level 0..4 --device-gflops 160 \\\n"
    "                   --rate 10Mbps\n"
    "  thinwire predict experiments/paper/latency-modelled.json --json results/modelled.jsonl\n";

}  // namespace

int predict_command(const Arguments& arguments) {
  OptionParser parser(kUsage);
  parser.allow_word("SPEC");
  parser.add_run_fields();
  const OptionParser::Parsed parsed = parser.parse(arguments.rest);
  if (parsed.is_help) return 0;
  if (!is_speaker()) return 0;  // under mpirun one rank is enough

  const SweepPoints sweep = sweep_points(parsed);
  for (const harness::RunSpec& spec : sweep.points)
    require_input(spec.level_control == strategy::LevelControl::fixed,
                  "--level={} with predict: levels follow from times that are measured (write a "
                  "list of levels, such as 0..4: its ends are the bounds)",
                  strategy::to_string(spec.level_control));
  if (sweep.json.empty()) {
    harness::plan_points(sweep.points, harness::Source::predicted);  // nothing half printed

    for (const harness::RunSpec& spec : sweep.points)
      print_record(harness::to_json(harness::predict_point(harness::make_point(spec))));
    return 0;
  }
  const std::vector<harness::PlannedPoint> plan =
      harness::plan_points(sweep.points, harness::Source::predicted);
  const harness::ResultClaim claim(sweep.json, harness::ResultClaim::Holder::alone);
  harness::ResultFile file(sweep.json);
  print_counts(harness::predict_sweep(sweep.points, plan, file));
  return 0;
}

}  // namespace thinwire::cli
