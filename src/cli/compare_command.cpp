#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "command.hpp"
#include "options.hpp"
#include "print_comparison.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/harness/result_file.hpp"

namespace thinwire::cli {
namespace {

constexpr const char* kUsage =
    "usage: thinwire compare A.jsonl B.jsonl [--metric latency|compute|wait] [--json FILE|-]\n\n"
    "Pairs the records of two files that have one spec (repetitions are pooled) and prints, for\n"
    "every link setting, the medians and their ratio B / A with a 95 % interval, resampled from "
    "the\n"
    "raw samples; counts of operations and bits that differ; and the geometric mean of all "
    "ratios.\n\n"
    "examples:\n"
    "  thinwire compare before.jsonl after.jsonl\n"
    "  thinwire compare emulated.jsonl throttled.jsonl --metric wait --json ratios.json\n";

constexpr std::uint64_t kSeed = 0;  // equal files give equal intervals

void write_json(const Json& comparison, const std::string& place) {
  const std::string text = comparison.dump(1) + "\n";
  if (place == "-") {
    fmt::print("{}", text);
    return;
  }
  std::ofstream file(place);
  file << text << std::flush;
  require_input(file.good(), "--json={}: cannot be written ({})", place, std::strerror(errno));
}

}  // namespace

int compare_command(const Arguments& arguments) {
  OptionParser parser(kUsage);
  parser.allow_word("A");
  parser.allow_word("B");
  parser.add("metric", "NAME", "latency (default), compute or wait");
  parser.add("json", "FILE|-",
             "write the comparison as JSON, to this file or instead of the table");
  const OptionParser::Parsed parsed = parser.parse(arguments.rest);
  if (parsed.is_help) return 0;
  require_input(parsed.has("A") && parsed.has("B"),
                "two result files are needed: thinwire compare A.jsonl B.jsonl");

  const auto option = [&](const std::string& name, const std::string& other) {
    return parsed.has(name) ? parsed.own.at(name) : other;
  };
  const harness::Metric metric = harness::metric_from(option("metric", "latency"));
  const std::string json = option("json", "");
  const harness::ResultComparison comparison =
      harness::compare_results(harness::read_records(parsed.own.at("A")),
                               harness::read_records(parsed.own.at("B")), metric, kSeed);
  if (!json.empty()) write_json(harness::to_json(comparison), json);
  if (json != "-") print_comparison(comparison);
  return 0;
}

}  // namespace thinwire::cli
