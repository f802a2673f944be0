#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "thinwire/fabric/fabric.hpp"
#include "thinwire/fabric/watchdog.hpp"
#include "thinwire/harness/capture.hpp"
#include "thinwire/harness/device_report.hpp"
#include "thinwire/harness/point.hpp"
#include "thinwire/model/model.hpp"
#include "thinwire/ops/thread_binding.hpp"
#include "thinwire/tensor/tracking_resource.hpp"

namespace thinwire::harness {

/// One device of a point: its workspace, strategy and fabric, ready for iterations.
class DeviceRun {
 public:
  /// `on_stuck` is told by the watchdog (spec.timeout).
  DeviceRun(const model::Model& model, const Point& point, fabric::Transport& transport,
            const std::function<void(const std::string&)>& on_stuck);

  /// Warm-up, then the measured iterations. `on_iteration` hears how many of both are done.
  DeviceReport iterate(const std::function<void(int)>& on_iteration);
  /// One more pass of a sequence, looking inside; untimed.
  Capture capture(const model::ModelInput& sequence);

 private:
  fabric::DeviceIteration run_once();

  const model::Model& model_;
  const Point& point_;
  fabric::Transport& transport_;
  fabric::Watchdog watchdog_;
  TrackingResource workspace_;
  std::unique_ptr<strategy::Strategy> strategy_;
  std::unique_ptr<fabric::Fabric> fabric_;
  std::optional<ops::ThreadBinding> binding_;
};

}  // namespace thinwire::harness
