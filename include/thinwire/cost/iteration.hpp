#pragma once
#include <algorithm>
#include <span>

#include "thinwire/cost/modelled_time.hpp"

namespace thinwire::cost {

/// When a device, or the terminal, has done its part of an iteration.
inline double end_s(const DeviceTime& time) {
  return time.compute_s + time.wait_s;
}

/// The one that ends last: its end is the iteration's latency. `members` is not empty.
inline const DeviceTime& last_of(std::span<const DeviceTime> members) {
  return *std::ranges::max_element(members, {}, end_s);
}

inline double iteration_s(std::span<const DeviceTime> members) {
  return end_s(last_of(members));
}

}  // namespace thinwire::cost
