#include <fmt/format.h>

#include <array>

#include "command.hpp"
#include "figures.hpp"
#include "launcher.hpp"
#include "options.hpp"
#include "print_link_check.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/harness/calibration.hpp"
#include "thinwire/harness/check_spec.hpp"

namespace thinwire::cli {
namespace {

constexpr const char* kUsage =
    "usage: thinwire calibrate [OPTIONS]\n\n"
    "Measures this machine as a device: the GFLOP/s of a model's blocks by the number of rows "
    "that\n"
    "a device has (its share of the tokens), with all blocks in turn, so that weights are as cold\n"
    "as in an inference; and the memory that is available. With several --devices also the rate\n"
    "and the latency of the link that joins them, fitted to all-gathers as link-check does: "
    "native\n"
    "(default) of the network that MPI uses, throttled of a paced one. For devices on several\n"
    "machines start it under mpirun with a host each; rates and memory are those of rank 0.\n"
    "--json writes the profile that `plan --profile` reads.\n\n"
    "examples:\n"
    "  thinwire calibrate --model vit-base-16 --threads 2 --json device.json\n"
    "  thinwire calibrate --model bert-base --tokens 128 --rows 1,16..128:lin:8\n"
    "  thinwire calibrate --devices 2 --sizes 1kB..1MB:log:8 --json device.json\n";

constexpr std::array<std::string_view, 13> kFields = {
    "model",   "tokens",   "threads",  "dtype",      "devices", "clock",  "rate",
    "latency", "topology", "overhead", "iterations", "warmup",  "timeout"};

void print_profile(const harness::CalibrationSpec& spec, const harness::Profile& profile,
                   const Json& json) {
  const Json& device = json.at("device");
  fmt::print("{}{} on {} thread{}: {} of memory available\n", profile.model,
             profile.dtype == DType::bf16 ? " in bf16" : "", profile.threads,
             profile.threads == 1 ? "" : "s", bytes(device.at("memory_bytes")));
  fmt::print("  {:>6} {:>9} {:>9} {:>9}\n", "rows", "GFLOP/s", "p10", "p90");
  for (const Json& rate : device.at("gflops_by_rows"))
    fmt::print("  {:>6} {:>9.4g} {:>9.4g} {:>9.4g}\n", rate.at("rows").get<Index>(),
               rate.at("gflops").get<double>(), rate.at("gflops_p10").get<double>(),
               rate.at("gflops_p90").get<double>());
  if (!spec.link) return;
  Json records = Json::array();
  for (const harness::LinkTiming& timing : profile.timings)
    records.push_back(harness::to_json(spec.link->settings.front(), timing, profile.environment));
  fmt::print("\n");
  print_link_check(records, profile.link);
}

}  // namespace

int calibrate_command(const Arguments& arguments) {
  OptionParser parser(kUsage);
  parser.add("rows", "N,...",
             "rows of a device, such as 1,16 or 1..197:log:9 (default from 1 to all tokens, each "
             "about twice the one before)");
  parser.add("sizes", "SIZE,...",
             fmt::format("with several devices: payloads that the link is tried with (default {})",
                         harness::kDefaultSizes));
  parser.add("json", "FILE|-", "write the profile to this file, or print it");
  parser.add_run_fields(kFields, {{"clock", "native"}});
  const OptionParser::Parsed parsed = parser.parse(arguments.rest);
  if (parsed.is_help) return 0;

  const harness::CalibrationSpec spec = harness::make_calibration_spec(parsed.fields, parsed.own);
  const bool has_file = !spec.json.empty() && spec.json != "-";
  harness::require_cpu(spec.point.spec);
  if (is_speaker() && has_file) harness::check_profile_place(spec.json);
  if (spec.ranks() > 1 && !harness::Session::is_launched())
    restart_under_mpirun(arguments, spec.ranks());
  return with_session(arguments, spec.ranks(), [&](harness::Session& session) {
    const std::optional<harness::Profile> profile = harness::calibrate(session, spec);
    if (!profile) return 0;
    const Json json = harness::to_json(*profile, spec);
    if (has_file) harness::write_profile(spec.json, json);
    if (spec.json == "-")
      fmt::print("{}\n", json.dump(2));
    else
      print_profile(spec, *profile, json);
    return 0;
  });
}

}  // namespace thinwire::cli
