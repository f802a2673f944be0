#include "thinwire/fabric/watchdog.hpp"

#include <fmt/format.h>

#include <utility>

namespace thinwire::fabric {
namespace {

std::int64_t now_ns() {
  const auto since_boot = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since_boot).count();
}

}  // namespace

Watchdog::Watchdog(Seconds limit, std::function<void(const std::string&)> on_stuck)
    : limit_(limit), on_stuck_(std::move(on_stuck)), since_ns_(now_ns()) {
  if (limit_.value_s() > 0) thread_ = std::thread(&Watchdog::watch, this);
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  stop_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Watchdog::report(const char* name, int layer) {
  // The three need not be read together: a mixed message is late by less than the limit anyway.
  name_.store(name, std::memory_order_relaxed);
  layer_.store(layer, std::memory_order_relaxed);
  since_ns_.store(now_ns(), std::memory_order_release);
}

void Watchdog::watch() {
  const auto limit_ns = static_cast<std::int64_t>(limit_.value_s() * 1e9);
  std::unique_lock lock(mutex_);
  while (!is_stopping_) {
    const std::int64_t left_ns = since_ns_.load(std::memory_order_acquire) + limit_ns - now_ns();
    if (left_ns <= 0) {
      lock.unlock();
      on_stuck_(fmt::format("no progress for {} in '{}' of layer {}", to_string(limit_),
                            name_.load(), layer_.load()));
      return;
    }
    stop_.wait_for(lock, std::chrono::nanoseconds(left_ns), [this] { return is_stopping_; });
  }
}

}  // namespace thinwire::fabric
