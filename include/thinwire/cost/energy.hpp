#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "thinwire/cost/workload.hpp"
#include "thinwire/fabric/link.hpp"

namespace thinwire::cost {

/// What one device's radio does in one iteration.
struct RadioLoad {
  std::int64_t sent_bits = 0;  ///< copies (unicast, shared: one a receiver) and headers
  std::int64_t received_bits = 0;
  double transmit_s = 0,
         receive_s = 0;  ///< bits / rate, at the (mean) rate of each transfer; 0 unlimited
};

/// Of every device over the sequences of one iteration; a terminal's transmissions count where they
/// are received. Whole bytes, as the link model carries them.
///   returns [P]
std::vector<RadioLoad> radio_loads(std::span<const Prediction> sequences, const fabric::Link& link);

/// What a device draws, in watts.
struct Powers {
  double compute_w = 0;  ///< while it computes
  double idle_w = 0;     ///< while it waits
  double radio_w = 0;    ///< on top of either, while it transmits or receives
};

/// Joules of one device in one iteration:
///
///   E = compute * P_compute + (latency - compute) * P_idle + (transmit + receive) * P_radio
///
/// `latency_s` is the iteration's, not the device's own end: until the answer is there, a device
/// that has done its part waits.
double energy_j(const Powers& powers, double compute_s, double latency_s, const RadioLoad& radio);

}  // namespace thinwire::cost
