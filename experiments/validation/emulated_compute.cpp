// Does a device of an emulated run compute as long as it would alone? Under mpirun, P ranks run
// Voltage on ViT-B/16 with all devices and, alternately, each device's part alone on the machine
// while the others sleep; what its peers sent is played back. Prints a Markdown table.
//
//   mpirun --oversubscribe --bind-to none -n 6 emulated_compute THREADS ITERATIONS warm|cold
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "node_model.hpp"
#include "replay_transport.hpp"
#include "thinwire/harness/statistics.hpp"
#include "thinwire/ops/runtime.hpp"
#include "thinwire/ops/thread_binding.hpp"
#include "thinwire/strategy/strategy.hpp"

namespace thinwire::validation {
namespace {

struct Plan {
  int threads = 2;
  int iterations = 15;
  bool is_cold = false;
};

/// What one rank tells the first.
struct Finding {
  double alone_s = 0, together_s = 0;  ///< median compute time of an iteration
  double alone_sd_s = 0, together_sd_s = 0;
  double wall_s = 0, eviction_s = 0;  ///< of an iteration with all devices, medians
};

fabric::DeviceIteration run_once(strategy::Strategy& strategy, const model::ModelInput& input,
                                 fabric::Fabric& fabric) {
  fabric.begin_iteration();
  strategy.forward(input, fabric);
  return fabric.end_iteration();
}

Finding measure(fabric::Transport& world, const model::Model& model, const Plan& plan) {
  constexpr int kWarmup = 2;
  const model::ModelInput input = model::random_input(model.config(), model.config().tokens, 0);
  const auto strategy = strategy::make_strategy("voltage", model, {},
                                                {.device = world.rank(),
                                                 .devices = world.size(),
                                                 .threads = plan.threads,
                                                 .lengths = {model.config().tokens}});
  Tape tape;
  RecordingTransport recording(world, tape);
  ReplayTransport replay(world.rank(), world.size(), tape);
  const fabric::FabricOptions options{.cold_weights = plan.is_cold};
  run_once(*strategy, input, *fabric::make_fabric(recording, options));
  const auto together = fabric::make_fabric(world, options);
  const auto alone = fabric::make_fabric(replay, options);

  std::vector<double> together_s, alone_s, wall_s, eviction_s;
  for (int i = -kWarmup; i < plan.iterations; ++i) {
    const fabric::DeviceIteration all = run_once(*strategy, input, *together);
    for (int device = 0; device < world.size(); ++device) {
      world.meet();  // the others sleep in the next one
      if (device != world.rank()) continue;
      replay.rewind();
      const fabric::DeviceIteration one = run_once(*strategy, input, *alone);
      if (i < 0) continue;
      alone_s.push_back(one.links[0].compute_s);
      together_s.push_back(all.links[0].compute_s);
      wall_s.push_back(all.wall_s);
      eviction_s.push_back(all.eviction_s);
    }
  }
  const auto a = harness::summarize(alone_s);
  const auto t = harness::summarize(together_s);
  return {
      a.p50, t.p50, a.sd, t.sd, harness::summarize(wall_s).p50, harness::summarize(eviction_s).p50};
}

void print(const std::vector<Finding>& findings, const Plan& plan) {
  fmt::print(
      "| device | alone, ms | sd | emulated, ms | sd | emulated / alone |\n"
      "|---|---|---|---|---|---|\n");
  double wall_s = 0, compute_s = 0, eviction_s = 0;
  for (std::size_t p = 0; p < findings.size(); ++p) {
    const Finding& f = findings[p];
    fmt::print("| {} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.3f} |\n", p, f.alone_s * 1e3,
               f.alone_sd_s * 1e3, f.together_s * 1e3, f.together_sd_s * 1e3,
               f.together_s / f.alone_s);
    wall_s = std::max(wall_s, f.wall_s);
    eviction_s += f.eviction_s;
    compute_s += f.together_s;
  }
  fmt::print("\n{} weights, {} threads, medians of {} iterations; emulation overhead {:.3f}\n\n",
             plan.is_cold ? "cold" : "warm", plan.threads, plan.iterations,
             (wall_s - eviction_s) / compute_s);
}

void run(fabric::MpiSession& session, const Plan& plan) {
  ops::set_threads(plan.threads);
  const ops::ThreadBinding binding(ops::allowed_cores());
  const NodeModel model(session, "vit-base-16");
  session.world().meet();
  const Finding mine = measure(session.world(), *model, plan);
  const auto all = fabric::gather_all(session.world(), std::as_bytes(std::span(&mine, 1)));
  std::vector<Finding> findings(all.size());
  for (std::size_t p = 0; p < all.size(); ++p)
    std::memcpy(&findings[p], all[p].data(), sizeof(Finding));
  if (session.rank() == 0) print(findings, plan);
}

}  // namespace
}  // namespace thinwire::validation

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: emulated_compute THREADS ITERATIONS warm|cold\n");
    return 2;
  }
  thinwire::fabric::MpiSession session(argc, argv);
  thinwire::validation::run(
      session, {std::atoi(argv[1]), std::atoi(argv[2]), std::string_view(argv[3]) == "cold"});
}
