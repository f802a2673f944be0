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

}  // namespace

Pacer::Span Pacer::reserve(std::int64_t bytes, Rate rate, Time ready) {
  const Time earliest = steady_clock::now() - to_duration(rate.seconds_for(8.0 * kMtuBytes));
  const Time start = std::max({ready, free_, earliest});
  free_ = start + to_duration(rate.seconds_for(8.0 * static_cast<double>(bytes)));
  return {start, free_};
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
