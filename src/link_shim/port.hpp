#pragma once
#include <vector>

namespace thinwire::link_shim {

/// The receiving side of a rank: what comes from several senders shares it, packet by packet. It
/// keeps the times in which it was busy, since messages are served in the order in which the
/// program asks for them, which need not be the order in which they came.
class Port {
 public:
  /// Takes a message of `duration_s` from `start_s` on in the time that is still free and returns
  /// when its last bit is in. A message without duration needs no room.
  double serve(double start_s, double duration_s);
  /// Busy from `begin_s` to `end_s`, whoever sent.
  void occupy(double begin_s, double end_s);
  /// The end of everything that was served, 0 at first.
  double free_s() const { return busy_.empty() ? 0 : busy_.back().end_s; }

 private:
  struct Interval {
    double begin_s, end_s;
  };
  std::vector<Interval> busy_;  // ascending, apart from each other; the oldest are forgotten
};

}  // namespace thinwire::link_shim
