#include <fmt/format.h>

#include <array>
#include <optional>

#include "command.hpp"
#include "launcher.hpp"
#include "options.hpp"
#include "print_link_check.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/harness/link_check.hpp"
#include "thinwire/harness/link_fit.hpp"
#include "thinwire/harness/progress.hpp"
#include "thinwire/harness/result_file.hpp"

namespace thinwire::cli {
namespace {

constexpr const char* kUsage =
    "usage: thinwire link-check [OPTIONS]\n\n"
    "Holds a link against its formula: all-gathers of many sizes, with nothing computed in "
    "between,\n"
    "from the common start to the last device's end, beside what the link model says. Ends with "
    "the\n"
    "rate and the latency that explain the measured times best (least squares of the relative\n"
    "error). Several rates, latencies, topologies or numbers of devices are measured one after "
    "the\n"
    "other. Starts as many MPI ranks as there are devices.\n\n"
    "What is measured depends on the clock. emulated: the link model's own arrivals, so that it\n"
    "must agree. throttled: senders that are paced in real time. native: whatever network MPI\n"
    "uses; the rate that is given only goes into the formula, as the claim to be checked.\n\n"
    "examples:\n"
    "  thinwire link-check --rate 10Mbps,100Mbps --latency 2ms\n"
    "  thinwire link-check --clock throttled --devices 3 --rate 50Mbps --sizes 1kB..300kB:log:6\n"
    "  thinwire link-check --clock native --rate 1Gbps --sizes 14B,107bit,1500B,300kB \\\n"
    "                      --json results/link.jsonl\n";

constexpr std::array<std::string_view, 10> kFields = {"devices",  "rate",  "latency",    "topology",
                                                      "overhead", "clock", "iterations", "warmup",
                                                      "timeout",  "json"};

/// Seconds that the formula gives to a setting, for the progress of several.
double expected_s(const harness::LinkSetting& setting, std::span<const std::int64_t> sizes) {
  constexpr double kMeetingsS = 1e-3;  // where the link takes no time
  double sum_s = 0;
  for (const std::int64_t bytes : sizes)
    sum_s += kMeetingsS + harness::all_gather_formula_s(setting.link, setting.devices, bytes);
  return sum_s * (setting.warmup + setting.iterations);
}

std::vector<double> work_of(const harness::LinkCheck& check) {
  std::vector<double> work;
  for (const harness::LinkSetting& setting : check.settings)
    work.push_back(expected_s(setting, check.sizes));
  return work;
}

void check_settings(harness::Session& session, const harness::LinkCheck& check) {
  std::optional<harness::Progress> progress;
  std::optional<harness::ResultFile> file;
  if (session.is_root()) {
    progress.emplace(work_of(check));
    if (!check.json.empty()) file.emplace(check.json, harness::kLinkCheckSchema);
  }
  for (const harness::LinkSetting& setting : check.settings) {
    if (progress)
      progress->start_point(fmt::format("P={} {}", setting.devices, to_string(setting.link)));
    const std::vector<harness::LinkTiming> timings =
        harness::check_link(session, setting, check.sizes, [&](double part) {
          if (progress) progress->advance(part);
        });
    if (!session.is_root()) continue;
    progress->finish_point();
    const Json environment = session.environment();
    Json records = Json::array();
    for (const harness::LinkTiming& timing : timings)
      records.push_back(harness::to_json(setting, timing, environment));
    if (file)
      for (const Json& record : records) file->append(record);
    if (check.json != "-") print_link_check(records, harness::fit_link(setting, timings));
  }
}

}  // namespace

int link_check_command(const Arguments& arguments) {
  OptionParser parser(kUsage);
  parser.add("sizes", "SIZE,...",
             fmt::format("payloads of a device, such as 107bit, 14B or 1kB..300kB:log:10, in whole "
                         "bytes on the link (default {})",
                         harness::kDefaultSizes));
  parser.add_run_fields(kFields, {{"devices", "2"}});
  const OptionParser::Parsed parsed = parser.parse(arguments.rest);
  if (parsed.is_help) return 0;

  const harness::LinkCheck check = harness::make_link_check(parsed.fields, parsed.own);
  if (is_speaker() && !check.json.empty())
    const harness::ResultFile readable(check.json, harness::kLinkCheckSchema);
  if (!harness::Session::is_launched()) restart_under_mpirun(arguments, check.ranks());
  return with_session(arguments, check.ranks(), [&](harness::Session& session) {
    check_settings(session, check);
    return 0;
  });
}

}  // namespace thinwire::cli
