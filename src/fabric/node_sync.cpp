#include "fabric/node_sync.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>
#include <thread>

namespace thinwire::fabric {
namespace {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

/// Between two looks at whether a meeting is abandoned: rare enough to cost the others nothing.
constexpr timespec kLookInterval{0, 100'000'000};

/// Sleeps while `word` holds `value`, for kLookInterval at most; may return early.
void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value) {
  ::syscall(SYS_futex, &word, FUTEX_WAIT, value, &kLookInterval, nullptr, 0);
}

void wake(std::atomic<std::uint32_t>& word, int sleepers) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, sleepers, nullptr, nullptr, 0);
}

}  // namespace

void NodeLock::lock() {
  std::uint32_t seen = 0;
  if (state_.compare_exchange_strong(seen, 1)) return;
  while (state_.exchange(2) != 0) sleep_while(state_, 2);
}

void NodeLock::unlock() {
  if (state_.exchange(0) == 2) wake(state_, 1);
}

bool changes_within(const std::atomic<std::uint32_t>& word, std::uint32_t value,
                    std::chrono::nanoseconds patience) {
  constexpr int kLooks = 200;  // without a system call: peers that come together need no more
  for (int look = 0; look < kLooks; ++look)
    if (word.load() != value) return true;
  const auto end = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < end) {
    if (word.load() != value) return true;
    std::this_thread::yield();
  }
  return false;
}

NodeBarrier::Arrival NodeBarrier::arrive(std::uint32_t ranks) {
  const std::uint32_t round = round_.load();
  if (arrived_.fetch_add(1) + 1 < ranks) return {round, false};
  arrived_.store(0);  // before the round changes: nobody can arrive for the next one yet
  round_.fetch_add(1);
  // Who counts itself as a sleeper after this look finds the new round, and does not sleep.
  if (sleepers_.load() > 0) wake(round_, INT_MAX);
  return {round, true};
}

bool NodeBarrier::wait(Arrival mine, const std::atomic<bool>& is_abandoned,
                       std::chrono::nanoseconds patience) {
  if (mine.is_last) return true;
  if (patience.count() > 0 && changes_within(round_, mine.round, patience)) return true;
  sleepers_.fetch_add(1);
  bool is_met = round_.load() != mine.round;
  while (!is_met && !is_abandoned) {
    sleep_while(round_, mine.round);
    is_met = round_.load() != mine.round;
  }
  sleepers_.fetch_sub(1);
  return is_met;
}

}  // namespace thinwire::fabric
