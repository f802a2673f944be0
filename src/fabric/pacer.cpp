#include "fabric/pacer.hpp"

#include <cerrno>
#include <ctime>

#include <algorithm>

namespace thinwire::fabric {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::microseconds kSpin{50};  // timers wake late by about as much

steady_clock::duration to_duration(double seconds) {
  return std::chrono::duration_cast<steady_clock::duration>(std::chrono::duration<double>(seconds));
}

double to_seconds(steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

Pacer::Span Pacer::reserve(std::int64_t bytes, Rate rate, Time ready) {
  const Time begin = start(rate.bit_per_s(), steady_clock::now(), ready);
  free_ = begin + to_duration(rate.seconds_for(8.0 * static_cast<double>(bytes)));
  return {begin, free_};
}

Pacer::Span Pacer::reserve(std::int64_t bytes, const RateTrace& trace, Time trace_begin,
                           Time ready) {
  const Time now = steady_clock::now();
  const Time begin = start(trace.bit_per_s_at(to_seconds(now - trace_begin)), now, ready);
  const double end_s =
      trace.end_s(to_seconds(begin - trace_begin), 8.0 * static_cast<double>(bytes));
  free_ = trace_begin + to_duration(end_s);
  return {begin, free_};
}

Pacer::Time Pacer::start(double bit_per_s, Time now, Time ready) const {
  // A link that is down carries nothing that could be caught up with.
  const double mtu_s = bit_per_s > 0 ? 8.0 * kMtuBytes / bit_per_s : 0;
  return std::max({ready, free_, now - to_duration(mtu_s)});
}

void sleep_until(steady_clock::time_point deadline) {
  const auto wake_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>((deadline - kSpin).time_since_epoch())
          .count();
  if (deadline - steady_clock::now() > kSpin) {
    // steady_clock is CLOCK_MONOTONIC; an absolute time does not drift when a signal interrupts.
    const timespec wake{wake_ns / 1'000'000'000, wake_ns % 1'000'000'000};
    while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, nullptr) == EINTR) {
    }
  }
  while (steady_clock::now() < deadline) {
  }
}

}  // namespace thinwire::fabric
