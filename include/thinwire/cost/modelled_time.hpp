#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "thinwire/cost/workload.hpp"
#include "thinwire/fabric/link.hpp"

namespace thinwire::cost {

/// A device's share of one iteration under one link, as the modelled clock would show it.
struct DeviceTime {
  double compute_s = 0, wait_s = 0, hidden_s = 0, skew_s = 0;
  /// By fabric::Milestone, NaN where it is not passed: distributed, first output, computed.
  std::array<double, 3> milestone_s{kNever, kNever, kNever};

  static constexpr double kNever = std::numeric_limits<double>::quiet_NaN();
};

/// Plays the schedules of the sequences of one iteration, one after the other, with compute time =
/// operations (convention paper) * slowness / device rate. Equal to a run under the modelled clock
/// to the last bit.
///   device_flops_per_s, slowness [P]
///   iteration  where in its trace a changing link begins, and which packets are lost
///   returns [P], and the terminal's time behind them where there is one: it computes at device 0's
///   rate and nobody slows it down
std::vector<DeviceTime> modelled_time(std::span<const Prediction> sequences,
                                      const fabric::Link& link,
                                      std::span<const double> device_flops_per_s,
                                      std::span<const double> slowness, std::int64_t iteration = 0);

/// nominal_communication_s of ACCOUNTING 3: exchanges * nominal bits / rate (the first link rate),
/// 0 on an unlimited link; of a link with a trace at its mean rate.
double nominal_communication_s(const Prediction& prediction, const fabric::Link& link);

}  // namespace thinwire::cost
