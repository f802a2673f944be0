#include "fabric/pacer.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace thinwire::fabric {
namespace {

using std::chrono::duration;
using std::chrono::steady_clock;

TEST(Pacer, NeverExceedsTheRateByMoreThanOneMtu) {
  const Rate rate = Rate::bits_per_second(80e6);  // 10 bytes a microsecond
  constexpr std::int64_t kBytes = 2500, kMessages = 40;
  Pacer pacer;

  const auto begin = steady_clock::now();
  for (int i = 0; i < kMessages; ++i) sleep_until(pacer.reserve(kBytes, rate, begin).end);
  const duration<double> elapsed = steady_clock::now() - begin;

  EXPECT_GE(elapsed.count(), rate.seconds_for(8.0 * (kBytes * kMessages - Pacer::kMtuBytes)));
}

TEST(Pacer, PlansBackToBackWithoutGaps) {
  const Rate rate = Rate::bits_per_second(80e6);
  Pacer pacer;
  const auto ready = steady_clock::now();

  const auto first = pacer.reserve(20'000, rate, ready);
  const auto second = pacer.reserve(20'000, rate, ready);

  EXPECT_NEAR(duration<double>(first.end - first.start).count(), 0.002, 1e-8);
  // A wake-up that is later than one MTU's time (150 us) moves the second one; never before.
  EXPECT_GE(second.start, first.end);
}

TEST(Pacer, AnIdleLinkSavesNothingUp) {
  const Rate rate = Rate::bits_per_second(8e6);  // a byte a microsecond
  Pacer pacer;
  std::this_thread::sleep_for(std::chrono::milliseconds(5));

  const auto ready = steady_clock::now();
  sleep_until(pacer.reserve(100, rate, ready).end);

  EXPECT_GE(steady_clock::now() - ready, std::chrono::microseconds(100));
}

TEST(Pacer, FollowsATraceFromWhereItBegan) {
  const RateTrace trace("t", {{0, 8e6}, {0.5, 0}, {1, 8e3}});  // a byte a microsecond, at first
  Pacer pacer;
  const auto ready = steady_clock::now();
  const auto begin = ready - std::chrono::milliseconds(450);

  const auto first = pacer.reserve(10'000, trace, begin, ready);
  const auto second = pacer.reserve(50'000, trace, begin, ready);

  const auto since_begin = [&](auto time) { return duration<double>(time - begin).count(); };
  EXPECT_EQ(first.start, ready);
  EXPECT_NEAR(since_begin(first.end), 0.46, 1e-8);
  EXPECT_EQ(second.start, first.end);
  EXPECT_NEAR(since_begin(second.end), trace.end_s(0.46, 400'000), 1e-6);
  EXPECT_GT(since_begin(second.end), 1.0);  // the outage lies between
}

TEST(Pacer, AnUnlimitedRateTakesNoTime) {
  Pacer pacer;
  const auto span = pacer.reserve(1'000'000'000, Rate::unlimited(), steady_clock::now());

  EXPECT_EQ(span.start, span.end);
}

}  // namespace
}  // namespace thinwire::fabric
