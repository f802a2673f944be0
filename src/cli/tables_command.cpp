#include <fmt/format.h>

#include "command.hpp"
#include "options.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/harness/published_table.hpp"
#include "thinwire/harness/result_file.hpp"

namespace thinwire::cli {
namespace {

constexpr const char* kUsage =
    "usage: thinwire tables --published FILE --results FILE [--format markdown|csv|json]\n\n"
    "Prints every published cell beside what the records say, with the difference, also where the\n"
    "two do not match.\n\n"
    "example:\n"
    "  thinwire tables --published results/published/prism.json --results results/prism.jsonl\n";

std::string render(const harness::Comparison& comparison, const std::string& format) {
  if (format == "markdown") return harness::to_markdown(comparison);
  if (format == "csv") return harness::to_csv(comparison);
  if (format == "json") return harness::to_json(comparison).dump(1) + "\n";
  throw InputError(fmt::format("--format={}: known formats are markdown, csv and json", format));
}

}  // namespace

int tables_command(const Arguments& arguments) {
  OptionParser parser(kUsage);
  parser.add("published", "FILE", "the paper's cells, such as results/published/prism.json");
  parser.add("results", "FILE", "records of run, sweep or predict (.jsonl)");
  parser.add("format", "NAME", "markdown (default), csv or json");
  const OptionParser::Parsed parsed = parser.parse(arguments.rest);
  if (parsed.is_help) return 0;

  const Json published = read_json(parsed.require("published"));
  const std::vector<Json> records = harness::read_records(parsed.require("results"));
  const std::string format = parsed.has("format") ? parsed.own.at("format") : "markdown";
  fmt::print("{}", render(harness::compare_published(published, records), format));
  return 0;
}

}  // namespace thinwire::cli
