// What emulation adds to compute: the time from the start of a pass to the end of its last device,
// beside the sum of the devices' compute times, which turns serialise. ViT-B/16 under the emulated
// clock, for every number of devices from 2 to as many as there are ranks. Prints rows of a
// Markdown table; exit status 1 when a figure misses its target.
//
//   mpirun --oversubscribe --bind-to none -n 10 emulation_cost STRATEGY [THREADS [ITERATIONS]]
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <optional>

#include "figure.hpp"
#include "node_model.hpp"
#include "thinwire/compress/codebook_set.hpp"
#include "thinwire/compress/codebook_source.hpp"
#include "thinwire/ops/runtime.hpp"
#include "thinwire/ops/thread_binding.hpp"
#include "thinwire/strategy/strategy.hpp"

namespace thinwire::costs {
namespace {

using std::chrono::steady_clock;

constexpr double kTarget = 1.10;
constexpr Index kCodewords = 256, kSegments = 5;

struct Plan {
  std::string strategy;
  int threads = 2;
  int iterations = 15;
};

/// One device's part of a pass. Times are those of the node's one steady clock.
struct Part {
  double start_s = 0, end_s = 0, compute_s = 0;
};

double now_s() {
  return std::chrono::duration<double>(steady_clock::now().time_since_epoch()).count();
}

Part run_once(strategy::Strategy& strategy, const model::ModelInput& input,
              fabric::Fabric& fabric) {
  Part part;
  fabric.begin_iteration();
  part.start_s = now_s();  // of the last one to come: the pass's start
  strategy.forward(input, fabric);
  part.end_s = now_s();
  part.compute_s = fabric.end_iteration().links.front().compute_s;
  return part;
}

/// What a pass took, and what its devices computed together.
struct Pass {
  double wall_s = 0, compute_s = 0;
};

Pass joined(fabric::Transport& devices, const Part& mine) {
  double start_s = mine.start_s, end_s = mine.end_s, compute_s = 0;
  for (const auto& bytes : fabric::gather_all(devices, std::as_bytes(std::span(&mine, 1)))) {
    Part part;
    std::memcpy(&part, bytes.data(), sizeof(part));
    start_s = std::min(start_s, part.start_s);
    end_s = std::max(end_s, part.end_s);
    compute_s += part.compute_s;
  }
  return {end_s - start_s, compute_s};
}

bool measure(fabric::Transport& devices, const model::Model& model,
             const compress::CodebookSet* codebooks, const Plan& plan) {
  const strategy::StrategyOptions options{.segments = kSegments, .codebooks = codebooks};
  const auto strategy = strategy::make_strategy(plan.strategy, model, options,
                                                {.device = devices.rank(),
                                                 .devices = devices.size(),
                                                 .threads = plan.threads,
                                                 .lengths = {model.config().tokens}});
  const model::ModelInput input = model::random_input(model.config(), model.config().tokens, 0);
  const auto fabric = fabric::make_fabric(devices, {});
  Paired passes;
  for (int i = -1; i < plan.iterations; ++i) {
    const Pass pass = joined(devices, run_once(*strategy, input, *fabric));
    if (i < 0) continue;
    passes.ours_s.push_back(pass.wall_s);
    passes.bare_s.push_back(pass.compute_s);
  }
  if (devices.rank() != 0) return true;
  return print_ratio(fmt::format("{}, P = {}, {} threads: pass beside its compute", plan.strategy,
                                 devices.size(), plan.threads),
                     passes, kTarget);
}

std::optional<compress::CodebookSet> make_codebooks(const model::Model& model,
                                                    const std::string& strategy) {
  const auto& known = strategy::strategies();
  const auto entry = std::ranges::find(known, strategy, &strategy::StrategyEntry::name);
  if (entry == known.end() || !entry->codebooks) return std::nullopt;
  const auto source = compress::random_codebooks(model.config(), *entry->codebooks, kCodewords, 0);
  return compress::CodebookSet(model, *entry->codebooks, *source,
                               {std::pmr::new_delete_resource()});
}

bool measure_all(fabric::MpiSession& session, const Plan& plan) {
  ops::set_threads(plan.threads);
  const ops::ThreadBinding binding(ops::allowed_cores());
  const NodeModel model(session, "vit-base-16");
  const auto codebooks = make_codebooks(*model, plan.strategy);
  bool holds = true;
  for (int devices = 2; devices <= session.size(); ++devices) {
    session.world().meet();
    const auto transport = session.first_ranks(devices);
    if (transport)
      holds = measure(*transport, *model, codebooks ? &*codebooks : nullptr, plan) && holds;
    session.world().meet();  // the others sleep
  }
  return holds;
}

}  // namespace
}  // namespace thinwire::costs

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: emulation_cost STRATEGY [THREADS [ITERATIONS]]\n");
    return 2;
  }
  thinwire::costs::Plan plan{.strategy = argv[1]};
  if (argc > 2) plan.threads = std::atoi(argv[2]);
  if (argc > 3) plan.iterations = std::atoi(argv[3]);
  thinwire::fabric::MpiSession session(argc, argv);
  return thinwire::costs::measure_all(session, plan) ? 0 : 1;
}
