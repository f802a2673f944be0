#include <fmt/format.h>

#include "command.hpp"
#include "failure.hpp"
#include "launcher.hpp"
#include "options.hpp"
#include "sweep_points.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/harness/sweep_runner.hpp"

namespace thinwire::cli {
namespace {

constexpr const char* kUsage =
    "usage: thinwire sweep [SPEC.json] --json FILE [OPTIONS]\n\n"
    "Runs a matrix of configurations in one launch and appends a record a point to FILE. Started\n"
    "again, it skips the points that FILE holds. SPEC.json has \"base\" (options of all points),\n"
    "\"matrix\" (option: list or range, all combinations) and \"points\" (explicit ones); lists "
    "and\n"
    "ranges can be given as options as well.\n\n"
    "examples:\n"
    "  thinwire sweep experiments/paper/prism-tables.json --json results/prism.jsonl\n"
    "  thinwire sweep --strategy prism --devices 2,3,6 --compression-rate 2..10 --rate 100Mbps \\\n"
    "                 --json results/cr.jsonl\n"
    "  thinwire sweep --strategy trace-b,trace-nb --devices 2,3 --level 0..4 --rate 10Mbps \\\n"
    "                 --json results/levels.jsonl\n";

}  // namespace

int sweep_command(const Arguments& arguments) {
  OptionParser parser(kUsage);
  parser.allow_word("SPEC");
  parser.add("dry-run", "", "print the points and leave");
  parser.add_run_fields();
  const OptionParser::Parsed parsed = parser.parse(arguments.rest);
  if (parsed.is_help) return 0;

  const SweepPoints sweep = sweep_points(parsed);
  harness::check_points(sweep.points);
  if (parsed.is_on("dry-run")) {
    print_points(sweep.points);
    return 0;
  }
  require_input(!sweep.json.empty(), "--json is needed: the file that records are appended to");
  if (is_speaker()) harness::check_places(sweep.points.front());
  const int ranks = harness::most_ranks(sweep.points);
  if (ranks > 1 && !harness::Session::is_launched()) restart_under_mpirun(arguments, ranks);
  return with_session(arguments, ranks, [&](harness::Session& session) {
    std::optional<harness::ResultFile> file;
    if (session.is_root()) file.emplace(sweep.json);
    const harness::SweepCounts counts =
        harness::run_sweep(session, sweep.points, file ? &*file : nullptr);
    if (session.is_root()) print_counts(counts);
    return counts.failed > 0 ? kFailed : 0;
  });
}

}  // namespace thinwire::cli
