#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "thinwire/base/units.hpp"

namespace thinwire::fabric {

/// Ends a run in which this process makes no progress. The work reports what it is about to do; a
/// thread of its own looks whether the report is older than the limit.
class Watchdog {
 public:
  /// Calls `on_stuck` once, from the watching thread, with a line such as
  /// "no progress for 60 s in 'wait' of layer 3". A limit of 0 watches nothing.
  Watchdog(Seconds limit, std::function<void(const std::string&)> on_stuck);
  Watchdog(const Watchdog&) = delete;
  ~Watchdog();

  /// `name` is a literal: it is read later.
  void report(const char* name, int layer);

 private:
  void watch();

  Seconds limit_;
  std::function<void(const std::string&)> on_stuck_;
  std::atomic<const char*> name_{"start"};
  std::atomic<int> layer_{0};
  std::atomic<std::int64_t> since_ns_{0};
  std::mutex mutex_;
  std::condition_variable stop_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace thinwire::fabric
