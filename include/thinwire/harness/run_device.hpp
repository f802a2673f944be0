#pragma once
#include <functional>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>

#include "thinwire/compress/codebook_set.hpp"
#include "thinwire/fabric/fabric.hpp"
#include "thinwire/fabric/watchdog.hpp"
#include "thinwire/harness/capture.hpp"
#include "thinwire/harness/chosen_levels.hpp"
#include "thinwire/harness/device_report.hpp"
#include "thinwire/harness/placement.hpp"
#include "thinwire/harness/point.hpp"
#include "thinwire/model/model.hpp"
#include "thinwire/ops/thread_binding.hpp"
#include "thinwire/tensor/large_pages.hpp"
#include "thinwire/tensor/tracking_resource.hpp"

namespace thinwire::harness {

/// What all devices of a node read.
struct Shared {
  const model::Model& model;
  const compress::CodebookSet* codebooks = nullptr;  ///< null for strategies without
};

/// What a resolved spec tells its strategy; `codebooks` is null for strategies without.
strategy::StrategyOptions strategy_options(const RunSpec& spec,
                                           const compress::CodebookSet* codebooks);

/// How the ranks of a point reach each other.
struct Transports {
  fabric::Transport& all;                ///< the devices, and the terminal as the last rank
  fabric::Transport* devices = nullptr;  ///< with a terminal the devices alone; null on it
};

/// One device of a point, or its terminal: workspace, strategy and fabric, ready for iterations.
class DeviceRun {
 public:
  /// `links` are carried by the execution, the spec's or more (shared_execution.hpp); `on_stuck` is
  /// told by the watchdog (spec.timeout); `board` is the node's, if there are ranks; `weights` is
  /// for those that the device packs for itself, and outlives this object.
  DeviceRun(const Shared& shared, const Point& point, std::vector<fabric::Link> links,
            const Transports& transports, const std::function<void(const std::string&)>& on_stuck,
            const fabric::ProgressBoard* board, std::pmr::memory_resource* weights);

  /// Warm-up, then the measured iterations. `on_iteration` hears how many of both are done.
  DeviceReport iterate(const std::function<void(int)>& on_iteration);
  /// Where the ranks of the point compute.
  const std::vector<Placement>& placements() const { return placements_; }
  /// One more pass of a sequence, looking inside; untimed.
  Capture capture(const model::ModelInput& sequence);

 private:
  fabric::DeviceIteration run_once(int number);

  const model::Model& model_;
  const Point& point_;
  fabric::Transport& transport_;
  fabric::Watchdog watchdog_;
  LargePages pages_;
  std::pmr::monotonic_buffer_resource room_{std::size_t{1} << 25, &pages_};  // address space
  TrackingResource workspace_{&room_};
  std::unique_ptr<strategy::Strategy> strategy_;
  std::unique_ptr<fabric::Fabric> fabric_;
  std::optional<FrameCounter> frames_;  ///< where a controller chooses levels
  std::vector<Placement> placements_;
  std::optional<ops::ThreadBinding> binding_;
};

}  // namespace thinwire::harness
