#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "thinwire/base/units.hpp"
#include "thinwire/fabric/progress_board.hpp"

namespace thinwire::fabric {

/// Ends a run in which nobody makes progress. The work reports what it is about to do; a thread of
/// its own looks whether the latest report, of this process or of any that shares its board, is
/// older than the limit. A rank that waits for others, be it for their bytes or for its turn to
/// compute, is thus not taken for stuck while one of them works.
class Watchdog {
 public:
  /// Calls `on_stuck` once, from the watching thread, with a line such as
  /// "no progress for 60 s: rank 1 in 'attention' of layer 3". A limit of 0 watches nothing.
  ///   board  of the node; without it, this process alone is watched
  Watchdog(Seconds limit, std::function<void(const std::string&)> on_stuck,
           const ProgressBoard* board = nullptr);
  Watchdog(const Watchdog&) = delete;
  ~Watchdog();

  /// `name`: see ProgressRow.
  void report(std::string_view name, int layer) { board_.mine->report(name, layer); }

 private:
  void watch();

  Seconds limit_;
  std::function<void(const std::string&)> on_stuck_;
  ProgressRow own_{};
  ProgressBoard board_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace thinwire::fabric
