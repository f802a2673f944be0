#include "thinwire/harness/run_device.hpp"

#include <malloc.h>

#include "thinwire/harness/check_spec.hpp"
#include "thinwire/harness/environment.hpp"
#include "thinwire/ops/runtime.hpp"

namespace thinwire::harness {
namespace {

fabric::FabricOptions fabric_options(const RunSpec& spec, fabric::Watchdog& watchdog) {
  return {.clock = spec.clock,
          .links = spec.links(),
          .slowness = spec.slowness_per_device(),
          .device_flops_per_s = spec.flops_per_s_per_device(),
          .cold_weights = spec.cold_weights,
          .record_timeline = !spec.trace.empty(),
          .watchdog = &watchdog};
}

strategy::StrategyOptions strategy_options(const RunSpec& spec) {
  return {.partition = spec.partition,
          .weights = spec.partition == PartitionPolicy::weighted ? spec.speed_per_device()
                                                                 : std::vector<double>{},
          .segments = spec.segments.value_or(0),
          .compression_rate = spec.compression_rate.value_or(0),
          .scaling = spec.scaling};
}

/// Under virtual clocks one device computes at a time, and all use the same cores; on the wall
/// clock each has cores of its own, or none when they do not suffice.
std::vector<int> cores_for(const RunSpec& spec, int device) {
  std::vector<int> allowed = ops::allowed_cores();
  if (spec.clock != fabric::Clock::throttled) return allowed;
  const auto threads = static_cast<std::size_t>(spec.threads);
  const std::size_t begin = static_cast<std::size_t>(device) * threads;
  if (static_cast<std::size_t>(spec.devices) * threads > allowed.size()) return {};
  return {allowed.begin() + static_cast<std::ptrdiff_t>(begin),
          allowed.begin() + static_cast<std::ptrdiff_t>(begin + threads)};
}

}  // namespace

DeviceRun::DeviceRun(const model::Model& model, const Point& point, fabric::Transport& transport,
                     const std::function<void(const std::string&)>& on_stuck)
    : model_(model),
      point_(point),
      transport_(transport),
      watchdog_(point.spec.timeout, on_stuck),
      strategy_(strategy::make_strategy(point.spec.strategy, model, strategy_options(point.spec),
                                        {.device = transport.rank(),
                                         .devices = transport.size(),
                                         .threads = point.spec.threads,
                                         .lengths = point.lengths,
                                         .memory = &workspace_})),
      fabric_(fabric::make_fabric(transport, fabric_options(point.spec, watchdog_))) {
  ops::set_threads(point.spec.threads);
  binding_.emplace(cores_for(point.spec, transport.rank()));
}

DeviceReport DeviceRun::iterate(const std::function<void(int)>& on_iteration) {
  DeviceReport report;
  for (int i = -point_.spec.warmup; i < point_.spec.iterations; ++i) {
    if (i == 0)
      malloc_trim(0);  // what building primitives and the first collectives took and freed
    fabric::DeviceIteration iteration = run_once();
    if (i >= 0) report.iterations.push_back(std::move(iteration));
    on_iteration(point_.spec.warmup + i + 1);
  }
  report.timeline = fabric_->timeline();
  report.workspace_bytes = workspace_.held_bytes();
  report.resident_bytes = resident_private_bytes();
  return report;
}

fabric::DeviceIteration DeviceRun::run_once() {
  fabric_->begin_iteration();
  for (const model::ModelInput& sequence : point_.sample.sequences)
    strategy_->forward(sequence, *fabric_);
  return fabric_->end_iteration();
}

Capture DeviceRun::capture(const model::ModelInput& sequence) {
  return capture_pass(model_, *strategy_, transport_, *fabric_, sequence);
}

}  // namespace thinwire::harness
