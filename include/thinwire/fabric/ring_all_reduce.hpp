#pragma once
#include <memory_resource>
#include <span>
#include <vector>

#include "thinwire/base/partition.hpp"
#include "thinwire/base/types.hpp"
#include "thinwire/fabric/fabric.hpp"

namespace thinwire::fabric {

/// The sum over all devices, left on every device: a ring reduce-scatter, then a ring all-gather
/// (ACCOUNTING 4). 2 (P - 1) steps of chunks that PartitionPolicy::balanced makes; in each, device
/// p sends one chunk to device p + 1 and waits for one from device p - 1:
///   reduce-scatter, step s: p sends chunk p - s and adds what arrives to chunk p - s - 1
///   all-gather, step s:     p sends chunk p + 1 - s and takes chunk p - s
/// Every sum is made once, on one device, so that all hold bitwise the same values.
class RingAllReduce {
 public:
  /// For at most `most_values` values; holds ceil(most_values / devices) floats of `memory`, none
  /// on one device.
  RingAllReduce(int devices, Index most_values, std::pmr::memory_resource* memory);

  /// Collective over the devices, with spans of equal size. `phase` names the additions, which are
  /// timed but not counted (ACCOUNTING 1 counts no sum over devices).
  /// Throws Error for more values than were announced, or fewer than devices.
  void operator()(std::span<float> values, Phase phase, Fabric& fabric);

 private:
  Slice chunk(Index values, int number) const;
  /// Sends one part of `values` to the next device, receives `into` from the one before.
  void pass_on(std::span<const float> mine, std::span<float> into, Fabric& fabric) const;

  int devices_;
  Index most_values_;
  std::pmr::vector<float> received_;
};

}  // namespace thinwire::fabric
