#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "thinwire/base/partition.hpp"

namespace thinwire::fabric::test {

/// A device's part of a sum, of both signs.
inline std::vector<float> ring_values(int device, Index values) {
  std::vector<float> result;
  for (Index i = 0; i < values; ++i)
    result.push_back(std::sin(static_cast<float>(17 * i + 5 * device + 1)));
  return result;
}

/// Bytes that `device` sends to sum `values` fp32 values: in the reduce-scatter chunks p, p - 1,
/// ... and in the all-gather p + 1, p, ..., P - 1 of them each (ACCOUNTING 4).
inline std::int64_t ring_bytes(int device, int devices, Index values) {
  const auto chunks = partition(values, devices, PartitionPolicy::balanced);
  std::int64_t sent = 0;
  for (int step = 0; step < devices - 1; ++step)
    for (const int first : {device, device + 1})
      sent += chunks[static_cast<std::size_t>((first - step + devices) % devices)].size;
  return sent * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace thinwire::fabric::test
