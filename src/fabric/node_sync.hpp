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

/// Whether `word` ceases to hold `value` within `patience`, during which the caller looks at it,
/// giving its core to whoever wants it: being woken takes as long as sending 100 kB.
bool changes_within(const std::atomic<std::uint32_t>& word, std::uint32_t value,
                    std::chrono::nanoseconds patience);

/// A barrier between a fixed number of processes, any number of times.
class NodeBarrier {
 public:
  /// Where a caller of arrive() is.
  struct Arrival {
    std::uint32_t round = 0;
    bool is_last = false;  ///< the others may go, and have been woken
  };
  /// Counts the caller among those who have come; it may go when wait() returns.
  Arrival arrive(std::uint32_t ranks);
  /// Returns true when all have come, and false soon after `is_abandoned`, which another thread of
  /// this process may set; the barrier is of no use then. Looks for `patience` before it sleeps.
  bool wait(Arrival mine, const std::atomic<bool>& is_abandoned, std::chrono::nanoseconds patience);

 private:
  std::atomic<std::uint32_t> arrived_, round_, sleepers_;
};

}  // namespace thinwire::fabric
