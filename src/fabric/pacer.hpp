#pragma once
#include <chrono>
#include <cstdint>

#include "thinwire/base/units.hpp"
#include "thinwire/fabric/rate_trace.hpp"

namespace thinwire::fabric {

/// A transmitter in real time. Sending starts when the bytes are ready and the transmitter is free.
/// A caller that comes late (its thread woke up late) may catch up by at most one MTU's time; an
/// idle link saves up nothing, so that a small message pays for its bits too.
class Pacer {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::int64_t kMtuBytes = 1500;

  struct Span {
    Time start, end;
  };

  /// When `bytes` that were ready at `ready` leave at `rate`. The caller keeps to it: nothing is
  /// delivered before sleep_until(end).
  Span reserve(std::int64_t bytes, Rate rate, Time ready);
  /// The same on a link that follows `trace` from `trace_begin` on.
  Span reserve(std::int64_t bytes, const RateTrace& trace, Time trace_begin, Time ready);

 private:
  /// A late caller's catching up at the present rate.
  Time start(double bit_per_s, Time now, Time ready) const;

  Time free_{};
};

/// Sleeps until shortly before `deadline` and spins through the rest (at most 50 us).
void sleep_until(std::chrono::steady_clock::time_point deadline);

}  // namespace thinwire::fabric
