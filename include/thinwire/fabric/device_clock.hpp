#pragma once
#include <algorithm>

namespace thinwire::fabric {

/// One device's virtual time under one link setting. Time is compute plus waiting by definition,
/// so that the two add up to the latency exactly. A formula header.
class DeviceClock {
 public:
  double now_s() const { return compute_s_ + wait_s_; }
  double compute_s() const { return compute_s_; }
  double wait_s() const { return wait_s_; }
  double hidden_s() const { return hidden_s_; }

  /// Sets the compute time so far (a running total, never less than before).
  void set_compute_s(double total_s) { compute_s_ = total_s; }
  /// Waits for an exchange that this device published at `published_s` and whose latest peer
  /// message arrives at `arrival_s`: wait = max(0, A - W), hidden = max(0, min(W, A) - S).
  void wait_until(double arrival_s, double published_s) {
    hidden_s_ += std::max(0.0, std::min(now_s(), arrival_s) - published_s);
    wait_s_ = std::max(wait_s_, arrival_s - compute_s_);
  }

 private:
  double compute_s_ = 0, wait_s_ = 0, hidden_s_ = 0;
};

}  // namespace thinwire::fabric
