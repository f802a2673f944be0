#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "fabric/node_sync.hpp"

namespace thinwire::fabric {

/// A meeting of a node's ranks at which each tells the others a few numbers, in memory that they
/// share (zero-filled, memory_bytes() of it).
class NodeTelling {
 public:
  /// The most that a rank can tell.
  static constexpr std::size_t kMostBytes = 1020;
  static std::int64_t memory_bytes(std::uint32_t ranks);

  NodeTelling(std::byte* memory, std::uint32_t ranks, std::uint32_t rank);

  /// Meets alone.   As NodeBarrier::wait.
  bool meet(const std::atomic<bool>& is_abandoned, std::chrono::nanoseconds patience);
  /// Meets, and `all` becomes what every rank told, in rank order: as many bytes each as `mine`.
  bool tell(std::span<const std::byte> mine, std::span<std::byte> all,
            const std::atomic<bool>& is_abandoned, std::chrono::nanoseconds patience);

 private:
  /// Of one rank; flag and first numbers in one cache line.
  struct alignas(64) Place {
    std::atomic<std::uint32_t> told;  // how often it has come with what is in `bytes`
    std::byte bytes[kMostBytes];
  };
  struct alignas(64) Shared {
    NodeBarrier barrier;
  };

  std::span<Place> next_places();

  Shared& shared_;
  std::span<Place> places_;  // two generations of a place a rank
  std::uint32_t ranks_, rank_, told_ = 0;
};

}  // namespace thinwire::fabric
