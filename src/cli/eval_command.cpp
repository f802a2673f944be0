#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "command.hpp"
#include "launcher.hpp"
#include "options.hpp"
#include "print_evaluation.hpp"
#include "sweep_launch.hpp"
#include "sweep_points.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/harness/environment.hpp"
#include "thinwire/harness/eval_point.hpp"
#include "thinwire/harness/eval_run.hpp"
#include "thinwire/harness/result_file.hpp"

namespace thinwire::cli {
namespace {

constexpr const char* kUsage =
    "usage: thinwire eval [SPEC.json] --model DIR --data FILE [OPTIONS]\n\n"
    "Runs the samples of a data file through a strategy and sums up how good its answers are: "
    "accuracy,\n"
    "F1, Matthews or rank correlation, bits per byte, perplexity, as the labels of the data allow, "
    "with\n"
    "a 95 % bootstrap interval. Lists and ranges of options, or a document as `sweep` takes it, "
    "become\n"
    "points of one launch, a record each; started again, it skips the points that the file of "
    "--json\n"
    "holds. Every MPI rank plays all devices of a point by itself, and the ranks share the "
    "samples, so\n"
    "that any number of ranks gives the same answer; outside mpirun it starts one a core.\n\n"
    "A sentence with fewer tokens than there are devices runs on as many devices as it has tokens, "
    "and\n"
    "one whose parts have fewer rows than --segments publishes a mean a row; records say how "
    "often.\n\n"
    "With --rate-trace, --level adaptive or --level probing time is modelled, too (clock modelled, "
    "needs\n"
    "--device-gflops): one rank runs the samples one by one, and their latencies are in the "
    "record.\n\n"
    "examples:\n"
    "  thinwire eval --model FOLDER --data test.safetensors         (one device: the reference)\n"
    "  thinwire eval --model FOLDER --data test.safetensors --strategy prism --devices 2,3 \\\n"
    "                --compression-rate 2..8 --scaling on,off --agreement on --json prism.jsonl\n"
    "  thinwire eval --model FOLDER --data pairs.safetensors --samples 1000..2999 --devices 2 \\\n"
    "                --strategy trace-b,trace-nb --codebook FILE --level 0..4 --json "
    "trace.jsonl\n"
    "  thinwire eval --model FOLDER --data test.safetensors --strategy trace-b --devices 2 \\\n"
    "                --codebook FILE --level adaptive --device-gflops 10 --rate-trace "
    "zigbee.csv\n\n"
    "exit status: 0 ok, 1 a point failed, 2 wrong usage or input\n";

constexpr std::array<std::string_view, 41> kFields = {"model",
                                                      "data",
                                                      "samples",
                                                      "metric",
                                                      "agreement",
                                                      "tokens",
                                                      "strategy",
                                                      "devices",
                                                      "threads",
                                                      "dtype",
                                                      "partition",
                                                      "slowness",
                                                      "device-gflops",
                                                      "memory",
                                                      "segments",
                                                      "compression-rate",
                                                      "scaling",
                                                      "groups",
                                                      "index-bits",
                                                      "index-coding",
                                                      "class-token",
                                                      "codebook",
                                                      "codewords",
                                                      "level",
                                                      "active-codewords",
                                                      "buffers",
                                                      "overlap",
                                                      "micro-batches",
                                                      "io",
                                                      "rate",
                                                      "rate-trace",
                                                      "latency",
                                                      "topology",
                                                      "overhead",
                                                      "loss",
                                                      "on-loss",
                                                      "convention",
                                                      "seed",
                                                      "timeout",
                                                      "json",
                                                      "payload"};

/// What a sweep document may say about timing has no meaning here: each sample runs once.
harness::KeyValues untimed() {
  return {{"iterations", "1"}, {"warmup", "0"}, {"clock", "emulated"}, {"cold-weights", "off"}};
}

/// One for every core that this process may use, as far as there are samples.
int started_ranks(const std::vector<harness::RunSpec>& points) {
  const auto is_one_stream = [](const harness::RunSpec& point) {
    return point.has_timed_evaluation();
  };
  if (std::ranges::all_of(points, is_one_stream)) return 1;
  const int threads = std::ranges::max(points, {}, &harness::RunSpec::threads).threads;
  const double cores = std::floor(harness::granted_cores());
  double most_samples = 1;
  for (const harness::RunSpec& point : points)
    most_samples =
        std::max(most_samples, point.samples ? static_cast<double>(point.samples->count()) : cores);
  return static_cast<int>(std::max(1.0, std::min(cores / threads, most_samples)));
}

harness::PointWork evaluating(const std::shared_ptr<harness::Evaluation>& evaluation) {
  return {.make =
              [evaluation](harness::RunSpec spec, harness::FingerprintCache& fingerprints) {
                return evaluation->make(std::move(spec), fingerprints);
              },
          .flops = harness::predicted_flops,
          .run =
              [evaluation](harness::Session& session, std::span<const harness::Point> points,
                           const std::function<void(double)>& on_progress) {
                std::vector<harness::Result> results;
                for (const harness::Point& point : points)
                  if (auto result = evaluation->run(session, point, on_progress))
                    results.push_back(std::move(*result));
                return results;
              }};
}

}  // namespace

int eval_command(const Arguments& arguments) {
  OptionParser parser(kUsage);
  add_sweep_options(parser);
  parser.add("scores", "FILE", "append every sample's score to this file, a line a point");
  parser.add_run_fields(kFields, untimed());
  const OptionParser::Parsed parsed = parser.parse(arguments.rest);
  if (parsed.is_help) return 0;

  const SweepPoints sweep = sweep_points(parsed);
  for (const harness::RunSpec& point : sweep.points)
    require_input(!point.data.empty(), "--data is needed: the file whose samples are evaluated");
  if (parsed.has("scores") && is_speaker())
    harness::require_writable("scores", parsed.own.at("scores"));
  const auto evaluation = std::make_shared<harness::Evaluation>(
      parsed.has("scores") ? parsed.own.at("scores") : std::string());
  const auto on_record = [&](const Json& record) {
    if (sweep.json != "-") print_evaluation(record);
  };
  return launch_sweep(arguments, parsed, sweep, {.started = started_ranks(sweep.points)},
                      evaluating(evaluation), on_record);
}

}  // namespace thinwire::cli
