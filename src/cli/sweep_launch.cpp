#include "sweep_launch.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>

#include "failure.hpp"
#include "launcher.hpp"
#include "supervisor.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/base/text.hpp"
#include "thinwire/harness/check_spec.hpp"
#include "thinwire/harness/result_claim.hpp"

namespace thinwire::cli {
namespace {

using harness::Selection;

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
  if (json.empty()) return "";
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
  return !json.empty() && json != "-" && (!exists(status) || is_regular_file(status));
}

}  // namespace

void add_sweep_options(OptionParser& parser) {
  parser.allow_word("SPEC");
  parser.add("dry-run", "", "print the points, count those that are done or failed, and leave");
  parser.add("resume", "", "skip points with an ok or skipped record (default on; off: run all)");
  parser.add("only", "failed|new",
             "run only points whose latest record is failed, or that have no record");
  parser.add("point-timeout", "TIME",
             "a point that takes longer, such as 5min, becomes a failed record (0: never)");
}

int launch_sweep(const Arguments& arguments, const OptionParser::Parsed& parsed,
                 const SweepPoints& sweep, SweepRanks ranks, const harness::PointWork& work,
                 const std::function<void(const Json&)>& on_record) {
  harness::SweepOptions options{.selection = selection_of(parsed),
                                .since = supervised_since(),
                                .point_timeout = point_timeout(parsed),
                                .work = work,
                                .on_record = on_record};
  // A supervisor has checked all points; then the root alone needs them again.
  std::vector<harness::PlannedPoint> plan;
  if (is_speaker() || !options.since)
    plan =
        harness::plan_points(sweep.points, harness::Source::measured, work, options.fingerprints);
  if (parsed.is_on("dry-run")) {
    print_points(sweep, plan, options.selection);
    return 0;
  }
  for (const harness::RunSpec& point : sweep.points) harness::require_cpu(point);
  if (is_speaker()) harness::check_places(sweep.points.front());
  if (!options.since && !harness::Session::is_launched()) {
    if (can_be_read_back(sweep.json))
      return supervise(arguments, sweep, plan, options.selection, ranks.started);
    if (ranks.started > 1) restart_under_mpirun(arguments, ranks.started);
  }
  return with_session(arguments, ranks.needed, [&](harness::Session& session) {
    return run_here(session, sweep, plan, options);
  });
}

}  // namespace thinwire::cli
