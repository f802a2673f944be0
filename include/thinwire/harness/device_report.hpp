#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "thinwire/fabric/fabric.hpp"
#include "thinwire/harness/chosen_levels.hpp"

namespace thinwire::harness {

/// One device's account of a point, as it travels to device 0 when all iterations are done.
struct DeviceReport {
  std::vector<fabric::DeviceIteration> iterations;
  std::vector<fabric::TimelineEvent> timeline;  ///< of the last iteration, when recorded
  std::int64_t workspace_bytes = 0;             ///< held by this device's allocator
  std::int64_t resident_bytes = 0;              ///< private memory of the process
  std::int64_t own_weights_bytes = 0;           ///< in the node's memory, packed for this device
  double setup_s = 0;
  FramesByBits frames{};  ///< of all iterations, where a controller chooses levels
};

std::vector<std::byte> pack(const DeviceReport& report);
DeviceReport unpack(std::span<const std::byte> bytes);

}  // namespace thinwire::harness
