#include <cstdio>
#include <exception>
#include <span>

#include "command.hpp"
#include "launcher.hpp"
#include "options.hpp"
#include "print_result.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/harness/check_spec.hpp"
#include "thinwire/harness/progress.hpp"
#include "thinwire/harness/result_claim.hpp"
#include "thinwire/harness/result_file.hpp"
#include "thinwire/harness/session.hpp"

namespace thinwire::cli {
namespace {

constexpr const char* kUsage =
    "usage: thinwire run [OPTIONS]\n\n"
    "Runs one configuration with real arithmetic and real bytes through MPI, and shows what it "
    "costs\n"
    "in time, traffic and operations. Several rates (a list, or a range such as\n"
    "1Mbps..1000Mbps:log:10) are link settings of one execution. Outside mpirun it starts as many\n"
    "ranks as there are devices, and one for the terminal of --io=terminal.\n\n"
    "examples:\n"
    "  thinwire run --model vit-base-16 --strategy prism --devices 3 --segments 10 --rate 200Mbps\n"
    "  thinwire run --model FOLDER --input cat.jpg --strategy voltage --devices 2\n"
    "  thinwire run --strategy trace-b --devices 3 --codewords 1024 --level 3 --rate 10Mbps\n"
    "  thinwire run --strategy astra --devices 2 --codebook FILE --groups 16 --rate 10Mbps\n"
    "  thinwire run --strategy pipeline --devices 3 --micro-batches 8 --rate 100Mbps\n"
    "  thinwire run --strategy tensor --devices 2 --io terminal --rate 1Gbps\n"
    "  thinwire run --strategy voltage --devices 2 --clock throttled --rate 50Mbps\n";

void run_point(harness::Session& session, const harness::Point& point) {
  std::optional<harness::ResultClaim> claim;
  std::optional<harness::ResultFile> file;
  std::optional<harness::Progress> progress;
  if (session.is_root()) {
    if (!point.spec.json.empty()) {
      claim.emplace(point.spec.json, harness::ResultClaim::Holder::alone);
      file.emplace(point.spec.json);
    }
    progress.emplace(std::vector<double>{1.0});
    progress->start_point("run");
  }
  const auto results = session.run(std::span(&point, 1), [&](double part) {
    if (progress) progress->advance(part);
  });
  if (results.empty()) return;
  progress->finish_point();
  const Json record = harness::to_json(results.front());
  try {
    if (file) file->append(record);
  } catch (const std::exception&) {
    print_record(record);  // a full disk takes no record, but need not hide what was measured
    std::fflush(stdout);
    throw;
  }
  if (point.spec.json != "-") print_record(record);
}

}  // namespace

int run_command(const Arguments& arguments) {
  OptionParser parser(kUsage);
  parser.add_run_fields();
  const OptionParser::Parsed parsed = parser.parse(arguments.rest);
  if (parsed.is_help) return 0;

  // Everything is checked before ranks are started: a wrong word costs one line, not a launch.
  const harness::Point point = harness::make_point(harness::make_run_spec(parsed.fields));
  harness::require_fit(point);
  harness::require_cpu(point.spec);
  if (is_speaker()) harness::check_places(point.spec);
  const int ranks = point.spec.ranks();
  if (ranks > 1 && !harness::Session::is_launched()) {
    // Given back at once; the job takes it. Asked here, a refusal is one line and no launch.
    if (!point.spec.json.empty())
      harness::ResultClaim(point.spec.json, harness::ResultClaim::Holder::alone);
    restart_under_mpirun(arguments, ranks);
  }
  return with_session(arguments, ranks, [&](harness::Session& session) {
    run_point(session, point);
    return 0;
  });
}

}  // namespace thinwire::cli
