#pragma once
#include <cmath>
#include <cstdint>

#include "thinwire/fabric/fabric.hpp"

namespace thinwire::fabric::test {

/// A modelled clock for figures worked out by hand: a multiply-accumulate takes a second, and so
/// does a byte on the link.
inline FabricOptions unit_options(int devices, Topology topology = Topology::unicast) {
  FabricOptions options;
  options.clock = Clock::modelled;
  options.device_flops_per_s.assign(static_cast<std::size_t>(devices), 2);
  options.links = {{{Rate::bits_per_second(8)}, Seconds(0), topology}};
  return options;
}

inline void work_s(Fabric& fabric, std::int64_t seconds) {
  fabric.compute({"work", 0}, [&](Operations& operations) { operations.matmul_macs += seconds; });
}

inline double milestone_s(const DeviceIteration& iteration, Milestone milestone) {
  return iteration.links.front().milestone_s[static_cast<std::size_t>(milestone)];
}

}  // namespace thinwire::fabric::test
