#include "fabric/node_sync.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

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

bool NodeBarrier::meet(std::uint32_t ranks, const std::atomic<bool>& is_abandoned) {
  const std::uint32_t round = round_.load();
  if (arrived_.fetch_add(1) + 1 == ranks) {
    arrived_.store(0);  // before the round changes: nobody can arrive for the next one yet
    round_.fetch_add(1);
    wake(round_, INT_MAX);
    return true;
  }
  while (round_.load() == round) {
    if (is_abandoned) return false;
    sleep_while(round_, round);
  }
  return true;
}

}  // namespace thinwire::fabric
