#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>

namespace thinwire::fabric {

/// Both live in zero-filled memory shared by processes and are valid there without construction.
/// Waiting sleeps in the kernel (futex): the cores belong to the device that computes.

/// A lock between processes.
class NodeLock {
 public:
  void lock();
  void unlock();

 private:
  std::atomic<std::uint32_t> state_;  // 0 free, 1 held, 2 held and someone sleeps
};

/// A barrier between a fixed number of processes, any number of times.
class NodeBarrier {
 public:
  /// Returns true when `ranks` callers have come, and false soon after `is_abandoned`, which
  /// another thread of this process may set; the barrier is of no use then. Looks for the others
  /// for `patience` before it sleeps, giving its core to whoever wants it: being woken takes as
  /// long as sending 100 kB.
  bool meet(std::uint32_t ranks, const std::atomic<bool>& is_abandoned,
            std::chrono::nanoseconds patience);

 private:
  std::atomic<std::uint32_t> arrived_, round_, sleepers_;
};

}  // namespace thinwire::fabric
