#include <fmt/format.h>

#include <fstream>

#include "command.hpp"
#include "launcher.hpp"
#include "options.hpp"
#include "print_plan.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/harness/plan.hpp"
#include "thinwire/harness/progress.hpp"

namespace thinwire::cli {
namespace {

constexpr const char* kUsage =
    "usage: thinwire plan [OPTIONS]\n\n"
    "Compares every strategy, with every value of its options, for given devices and a given link\n"
    "by the formulas of `predict`: which is best, what else there is, what does not fit and why, "
    "and\n"
    "at which rates of the link the choice flips. Rows are divided among the devices for the "
    "lowest\n"
    "latency unless --partition says otherwise. Lists (--strategy voltage,prism, --segments 5,10,\n"
    "--level 0..2) narrow what is compared.\n\n"
    "examples:\n"
    "  thinwire plan --devices 3 --device-gflops 160 --rate 50Mbps\n"
    "  thinwire plan --device-gflops 160,80,40 --rate 10Mbps --topology broadcast --exact\n"
    "  thinwire plan --profile device.json --devices 2 --max-latency 150ms --max-bits 1MB\n"
    "  thinwire plan --devices 2 --device-gflops 20 --rate 20Mbps --objective energy \\\n"
    "                --device-power 6 --idle-power 2.5 --radio-power 0.8\n"
    "  thinwire plan --devices 2 --device-gflops 160 --rate 20Mbps --records results/cr.jsonl \\\n"
    "                --min-accuracy 0.8\n";

OptionParser make_parser() {
  OptionParser parser(kUsage);
  parser.add("profile", "FILE,...", "what `calibrate` found, of all devices or of a device each");
  parser.add("objective", "latency|energy|bits",
             "what the best one has least of (default latency); bits: that a device sends");
  parser.add("max-latency", "TIME", "of an inference, such as 50ms");
  parser.add("max-bits", "SIZE", "that a device sends in one inference, such as 1MB");
  parser.add("min-accuracy", "X",
             "in the unit of the records, such as 0.8 (the most, of bits per byte)");
  parser.add("records", "FILE", "records of eval, or answers of run and sweep (.jsonl)");
  parser.add("exact", "", "only strategies that give the single device's answer");
  parser.add("rate-range", "RATE..RATE",
             "where to look for the rates at which the choice flips (default 100kbps..10Gbps)");
  parser.add("json", "FILE|-", "write the plan as JSON to this file, or print it");
  for (const std::string_view name : harness::plan_fields()) {
    const harness::Field& field = harness::find_field(name);
    parser.add(std::string(name), std::string(field.argument), std::string(field.help));
  }
  return parser;
}

void write_json(const harness::Plan& plan, const std::string& file) {
  const std::string text = harness::to_json(plan).dump(1);
  if (file == "-") {
    fmt::print("{}\n", text);
    return;
  }
  std::ofstream stream(file);
  stream << text << std::endl;
  require_input(stream.good(), "--json={}: cannot be written", file);
}

}  // namespace

int plan_command(const Arguments& arguments) {
  const OptionParser::Parsed parsed = make_parser().parse(arguments.rest);
  if (parsed.is_help) return 0;
  if (!is_speaker()) return 0;  // under mpirun one rank is enough

  const harness::PlanRequest request = harness::make_plan_request(parsed.own);
  harness::Progress progress({1.0});
  progress.start_point("plan");
  const harness::Plan plan =
      harness::make_plan(request, [&](double part) { progress.advance(part); });
  progress.finish_point();
  const std::string json = parsed.has("json") ? parsed.own.at("json") : "";
  if (!json.empty()) write_json(plan, json);
  if (json != "-") print_plan(plan);
  return 0;
}

}  // namespace thinwire::cli
