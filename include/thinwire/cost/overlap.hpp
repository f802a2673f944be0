#pragma once
#include <span>
#include <vector>

#include "thinwire/cost/workload.hpp"
#include "thinwire/fabric/link.hpp"

namespace thinwire::cost {

/// One exchange of the sequence-parallel family under the overlap law (ACCOUNTING 3).
struct ExchangeOverlap {
  double transfer_s = 0;  ///< t_comm, from publishing to the latest arrival, latency included
  double window_s = 0;    ///< t_window, local work between publishing and waiting
  double excess_s = 0;    ///< what the exchange costs: max(t_comm, t_window) - t_window
  /// The slowest rate, the same for all devices, at which the window still covers the transfer:
  /// infinity when no rate does (no window, or one within the link's latency), 0 for no bytes.
  double slowest_hidden_rate_bit_per_s = 0;
};

/// The law for every exchange before a block, in their order. Bytes are those really sent, all
/// devices publish at once, and the link's topology says what they share. One with a trace counts
/// at its mean rate.
///   windows_s  one an exchange
/// Throws Error when there are fewer or more windows.
std::vector<ExchangeOverlap> overlap_law(const Prediction& prediction, const fabric::Link& link,
                                         std::span<const double> windows_s);

/// The windows of a run under the modelled clock: of each exchange the shortest over the devices.
///   device_flops_per_s, slowness [P]
std::vector<double> modelled_windows_s(const Prediction& prediction,
                                       std::span<const double> device_flops_per_s,
                                       std::span<const double> slowness);

}  // namespace thinwire::cost
