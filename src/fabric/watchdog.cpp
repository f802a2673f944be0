#include "thinwire/fabric/watchdog.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <utility>

namespace thinwire::fabric {

Watchdog::Watchdog(Seconds limit, std::function<void(const std::string&)> on_stuck,
                   const ProgressBoard* board)
    : limit_(limit), on_stuck_(std::move(on_stuck)) {
  if (board != nullptr) {
    board_ = *board;
  } else {
    own_.sign(0, ::getpid());
    board_ = {{&own_, 1}, &own_};
  }
  report("start", 0);
  if (limit_.value_s() > 0) thread_ = std::thread(&Watchdog::watch, this);
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  stop_.notify_all();
  if (thread_.joinable()) thread_.join();
  board_.mine->leave();
}

void Watchdog::watch() {
  const auto limit_ns = static_cast<std::int64_t>(limit_.value_s() * 1e9);
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    const std::int64_t left_ns = board_.latest_ns() + limit_ns - steady_now_ns();
    if (left_ns <= 0) {
      lock.unlock();
      on_stuck_(fmt::format("no progress for {}: {}", to_string(limit_), board_.culprit()));
      return;
    }
    stop_.wait_for(lock, std::chrono::nanoseconds(left_ns), [this] { return is_stopping_; });
  }
}

}  // namespace thinwire::fabric
