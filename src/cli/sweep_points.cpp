#include "sweep_points.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <span>

#include "thinwire/base/error.hpp"

namespace thinwire::cli {
namespace {

/// "model=vit-base-16 devices=2 ... "
std::string options_text(const harness::RunSpec& spec) {
  std::string line;
  const Json json = harness::to_json(spec);
  for (const auto& [key, value] : json.items())
    if (!value.is_null())
      line +=
          fmt::format("{}={} ", key, value.is_string() ? value.get<std::string>() : value.dump());
  return line;
}

std::size_t count_executions(std::span<const harness::PlannedPoint> points) {
  std::size_t count = 0;
  for (; !points.empty(); ++count) points = points.subspan(harness::next_execution(points).size());
  return count;
}

}  // namespace

SweepPoints sweep_points(const OptionParser::Parsed& parsed) {
  SweepPoints sweep;
  sweep.points = parsed.has("SPEC")
                     ? harness::read_sweep(parsed.own.at("SPEC"), parsed.fields).points
                     : harness::expand(parsed.fields);
  sweep.json = sweep.points.front().json;
  for (const harness::RunSpec& point : sweep.points)
    require_input(point.json == sweep.json, "--json={} and --json={}: a sweep has one result file",
                  sweep.json, point.json);
  return sweep;
}

void print_points(const SweepPoints& sweep, const std::vector<harness::PlannedPoint>& plan,
                  harness::Selection selection) {
  const bool has_file = !sweep.json.empty() && std::filesystem::is_regular_file(sweep.json);
  const harness::ResultFile file(has_file ? sweep.json : "-");
  std::map<std::string, int> states;
  for (const harness::PlannedPoint& point : plan) {
    const auto* const latest = file.latest(point.id);
    const std::string state = latest == nullptr ? "new" : latest->status;
    ++states[state];
    fmt::print("{}{}\n", options_text(sweep.points[point.index]), has_file ? "# " + state : "");
  }
  const std::vector<harness::PlannedPoint> pending =
      harness::pending_points(plan, file, selection, harness::end_of_records(sweep.json));
  const std::size_t executions = count_executions(pending);
  fmt::print(stderr, "{} points", plan.size());
  if (has_file) {
    fmt::print(stderr, " ({}: {} ok, {} skipped, {} failed, {} new)", sweep.json, states["ok"],
               states["skipped"], states["failed"], states["new"]);
  }
  const bool is_shared = executions < pending.size();
  fmt::print(stderr, ", {} to run{}\n", pending.size(),
             is_shared ? fmt::format(" in {} executions", executions) : "");
}

void print_counts(const harness::SweepCounts& counts) {
  fmt::print(stderr, "{} points done, {} skipped (cannot fit), {} failed, {} already there\n",
             counts.done, counts.skipped, counts.failed, counts.already_there);
}

}  // namespace thinwire::cli
