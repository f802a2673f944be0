#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "command.hpp"
#include "failure.hpp"
#include "launcher.hpp"
#include "options.hpp"
#include "supervisor.hpp"
#include "sweep_points.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/base/text.hpp"
#include "thinwire/harness/result_claim.hpp"
#include "thinwire/harness/sweep_runner.hpp"

namespace thinwire::cli {
namespace {

using harness::Selection;

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

void add_options(OptionParser& parser) {
  parser.allow_word("SPEC");
  parser.add("dry-run", "", "print the points, count those that are done or failed, and leave");
  parser.add("resume", "", "skip points with an ok or skipped record (default on; off: run all)");
  parser.add("only", "failed|new",
             "run only points whose latest record is failed, or that have no record");
  parser.add("point-timeout", "TIME",
             "a point that takes longer, such as 5min, becomes a failed record (0: never)");
  parser.add_run_fields();
}

Selection selection_of(const OptionParser::Parsed& parsed) {
  const bool resumes = !parsed.has("resume") || parsed.is_on("resume");
  if (!parsed.has("only")) return resumes ? Selection::unfinished : Selection::all;
  require_input(resumes, "--only={} with --resume=off: these contradict each other (give one)",
                parsed.own.at("only"));
  constexpr std::array<std::string_view, 2> kKinds = {"failed", "new"};
  const std::size_t kind = name_index("--only", parsed.own.at("only"), kKinds);
  return kind == 0 ? Selection::failed : Selection::fresh;
}

Seconds point_timeout(const OptionParser::Parsed& parsed) {
  if (!parsed.has("point-timeout")) return {};
  const std::string& text = parsed.own.at("point-timeout");
  try {
    return Seconds::parse(text);
  } catch (const InputError& error) {
    throw InputError(fmt::format("--point-timeout={}: {}", text, error.what()));
  }
}

/// What the root holds while points run.
struct Output {
  std::optional<harness::ResultClaim> claim;
  std::optional<harness::ResultFile> file;
};

/// Why the file cannot be written, or "".
std::string open_output(Output& output, const std::string& json, bool is_supervised) {
  using Holder = harness::ResultClaim::Holder;
  try {
    output.claim.emplace(json, is_supervised ? Holder::job : Holder::alone);
    output.file.emplace(json);
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

int run_here(harness::Session& session, const SweepPoints& sweep,
             const std::vector<harness::PlannedPoint>& plan, const harness::SweepOptions& options) {
  Output output;
  std::string refusal;
  if (session.is_root()) refusal = open_output(output, sweep.json, options.since.has_value());
  refusal = session.share(refusal);  // so that all ranks leave in order
  if (!refusal.empty()) {
    if (session.is_root()) fmt::print(stderr, "thinwire: {}\n", refusal);
    return kBadInput;
  }
  const harness::SweepCounts counts = harness::run_sweep(
      session, sweep.points, plan, output.file ? &*output.file : nullptr, options);
  if (session.is_root() && !options.since) print_counts(counts);
  return counts.failed > 0 ? kFailed : 0;
}

bool can_be_read_back(const std::string& json) {
  std::error_code ignored;
  const auto status = std::filesystem::status(json, ignored);
  return json != "-" && (!exists(status) || is_regular_file(status));
}

}  // namespace

int sweep_command(const Arguments& arguments) {
  OptionParser parser(kUsage);
  add_options(parser);
  const OptionParser::Parsed parsed = parser.parse(arguments.rest);
  if (parsed.is_help) return 0;

  const SweepPoints sweep = sweep_points(parsed);
  const harness::SweepOptions options{.selection = selection_of(parsed),
                                      .since = supervised_since(),
                                      .point_timeout = point_timeout(parsed)};
  // A supervisor has checked all points; then the root alone needs them again.
  std::vector<harness::PlannedPoint> plan;
  if (is_speaker() || !options.since)
    plan = harness::plan_points(sweep.points, harness::Source::measured);
  if (parsed.is_on("dry-run")) {
    print_points(sweep, plan, options.selection);
    return 0;
  }
  require_input(!sweep.json.empty(), "--json is needed: the file that records are appended to");
  if (is_speaker()) harness::check_places(sweep.points.front());
  const int ranks = harness::most_ranks(sweep.points);
  if (!options.since && !harness::Session::is_launched()) {
    if (can_be_read_back(sweep.json)) return supervise(arguments, sweep, plan, options.selection);
    if (ranks > 1) restart_under_mpirun(arguments, ranks);
  }
  return with_session(arguments, ranks, [&](harness::Session& session) {
    return run_here(session, sweep, plan, options);
  });
}

}  // namespace thinwire::cli
