#include "sweep_points.hpp"

#include <fmt/format.h>

#include "thinwire/base/error.hpp"

namespace thinwire::cli {

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

void print_points(const std::vector<harness::RunSpec>& points) {
  for (const harness::RunSpec& spec : points) {
    std::string line;
    const Json json = harness::to_json(spec);
    for (const auto& [key, value] : json.items())
      if (!value.is_null())
        line +=
            fmt::format("{}={} ", key, value.is_string() ? value.get<std::string>() : value.dump());
    fmt::print("{}\n", line);
  }
}

void print_counts(const harness::SweepCounts& counts) {
  fmt::print(stderr, "{} points done, {} skipped (cannot fit), {} failed, {} already there\n",
             counts.done, counts.skipped, counts.failed, counts.already_there);
}

}  // namespace thinwire::cli
