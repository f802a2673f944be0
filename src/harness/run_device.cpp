#include "thinwire/harness/run_device.hpp"

#include <malloc.h>

#include <utility>

#include "thinwire/harness/check_spec.hpp"
#include "thinwire/harness/environment.hpp"
#include "thinwire/ops/runtime.hpp"

namespace thinwire::harness {
namespace {

fabric::FabricOptions fabric_options(const RunSpec& spec, std::vector<fabric::Link> links,
                                     fabric::Watchdog& watchdog) {
  return {.clock = spec.clock,
          .links = std::move(links),
          .slowness = spec.slowness_per_device(),
          .device_flops_per_s = spec.flops_per_s_per_device(),
          .cold_weights = spec.cold_weights,
          .record_timeline = !spec.trace.empty(),
          .watchdog = &watchdog};
}

/// The set's level that a resolved spec means. ASTRA knows one, however its codebook was made.
int level_in(const compress::CodebookSet& codebooks, const RunSpec& spec) {
  return codebooks.use().is_squared() ? -1 : spec.level.value_or(-1);
}

std::unique_ptr<fabric::Fabric> make_fabric(const RunSpec& spec, const Transports& transports,
                                            fabric::FabricOptions options) {
  return spec.has_terminal() ? fabric::make_fabric_with_terminal(transports.all, transports.devices,
                                                                 std::move(options))
                             : fabric::make_fabric(transports.all, std::move(options));
}

}  // namespace

strategy::StrategyOptions strategy_options(const RunSpec& spec,
                                           const compress::CodebookSet* codebooks) {
  return {.partition = spec.partition,
          .weights = spec.partition_weights(),
          .segments = spec.segments.value_or(0),
          .compression_rate = spec.compression_rate.value_or(0),
          .scaling = spec.scaling,
          .payload = spec.payload,
          .overlap = spec.overlap,
          .codebooks = codebooks,
          .level = codebooks != nullptr ? level_in(*codebooks, spec) : -1,
          .level_control = spec.level_control,
          .index_bits = spec.index_bits,
          .index_coding = spec.index_coding,
          .class_token = spec.class_token,
          .micro_batches = spec.micro_batches,
          .io = spec.io,
          .collect = spec.collect,
          .on_loss = spec.loss_policy()};
}

DeviceRun::DeviceRun(const Shared& shared, const Point& point, std::vector<fabric::Link> links,
                     const Transports& transports,
                     const std::function<void(const std::string&)>& on_stuck,
                     const fabric::ProgressBoard* board, std::pmr::memory_resource* weights)
    : model_(shared.model),
      point_(point),
      transport_(transports.all),
      watchdog_(point.spec.timeout, on_stuck, board),
      strategy_(strategy::make_strategy(point.spec.strategy, shared.model,
                                        strategy_options(point.spec, shared.codebooks),
                                        {.device = transport_.rank(),
                                         .devices = point.spec.devices,
                                         .threads = point.spec.threads,
                                         .lengths = point.lengths,
                                         .memory = &workspace_,
                                         .weights = weights})),
      fabric_(make_fabric(point.spec, transports,
                          fabric_options(point.spec, std::move(links), watchdog_))),
      placements_(harness::placements(transport_, point.spec.devices, point.spec.threads,
                                      point.spec.clock)) {
  ops::set_threads(point.spec.threads);
  if (point.spec.level_control != strategy::LevelControl::fixed && shared.codebooks != nullptr)
    frames_.emplace(shared.codebooks->use());
  binding_.emplace(placements_.at(static_cast<std::size_t>(transport_.rank())).bound);
}

DeviceReport DeviceRun::iterate(const std::function<void(int)>& on_iteration) {
  DeviceReport report;
  for (int i = -point_.spec.warmup; i < point_.spec.iterations; ++i) {
    if (i == 0) {
      malloc_trim(0);  // what building primitives and the first collectives took and freed
      if (frames_) frames_->reset();
    }
    fabric::DeviceIteration iteration = run_once(std::max(i, 0));
    if (i >= 0) report.iterations.push_back(std::move(iteration));
    on_iteration(point_.spec.warmup + i + 1);
  }
  if (frames_) report.frames = frames_->frames();
  report.timeline = fabric_->timeline();
  report.workspace_bytes = workspace_.held_bytes();
  report.resident_bytes = resident_private_bytes();
  return report;
}

fabric::DeviceIteration DeviceRun::run_once(int number) {
  fabric_->begin_iteration(number);
  for (const model::ModelInput& sequence : point_.sample.sequences)
    strategy_->forward(sequence, *fabric_, frames_ ? &*frames_ : nullptr);
  return fabric_->end_iteration();
}

Capture DeviceRun::capture(const model::ModelInput& sequence) {
  return capture_pass(model_, *strategy_, transport_, *fabric_, sequence);
}

}  // namespace thinwire::harness
