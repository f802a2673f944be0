#include "thinwire/cost/printed.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "thinwire/base/error.hpp"

namespace thinwire::cost {
namespace {

TEST(RoundHalfUp, IsExactAtTiesThatNoDoubleHolds) {
  EXPECT_EQ(round_half_up({131, 40}, 2), 3.28);  // 3.275: the nearest double is below it
  EXPECT_EQ(round_half_up({1005, 1000}, 2), 1.01);
  EXPECT_EQ(round_half_up({2675, 1000}, 2), 2.68);
  EXPECT_EQ(round_half_up({197, 2}, 0), 99.0);  // 98.5
  EXPECT_EQ(round_half_up({394, 3}, 0), 131.0);
}

TEST(RoundHalfUp, LeavesWhatIsShortOfATie) {
  EXPECT_EQ(round_half_up({3274999, 1000000}, 2), 3.27);
  EXPECT_EQ(round_half_up({49, 100}, 0), 0.0);
  EXPECT_EQ(round_half_up({7, 1}, 2), 7.0);
  EXPECT_EQ(round_half_up({0, 5}, 3), 0.0);
}

TEST(RoundHalfUp, TakesNegativeTiesUpwards) {
  EXPECT_EQ(round_half_up({-1, 2}, 0), 0.0);
  EXPECT_EQ(round_half_up({-3, 2}, 0), -1.0);
  EXPECT_EQ(round_half_up({-131, 40}, 2), -3.27);
  EXPECT_EQ(round_half_up({-4, 2}, 1), -2.0);
}

TEST(RoundHalfUp, DoesNotOverflowForFlopCounts) {
  EXPECT_EQ(round_half_up({35146568448, 1000000000}, 2), 35.15);
  EXPECT_EQ(round_half_up({35146568448000000, 1000000000000000}, 4), 35.1466);
}

TEST(RoundHalfUp, AgreesWithIntegerArithmeticForEverySmallFraction) {
  for (std::int64_t numerator = -300; numerator <= 300; ++numerator)
    for (std::int64_t denominator = 1; denominator <= 60; ++denominator) {
      // floor(numerator / denominator * 100 + 1/2) over one denominator
      const std::int64_t doubled = 200 * numerator + denominator;
      const std::int64_t expected = static_cast<std::int64_t>(std::floor(
          static_cast<long double>(doubled) / static_cast<long double>(2 * denominator)));
      EXPECT_EQ(round_half_up({numerator, denominator}, 2), static_cast<double>(expected) / 100)
          << numerator << "/" << denominator;
    }
}

TEST(RoundHalfUp, TakesPlainNumbers) {
  EXPECT_EQ(round_half_up(98.5, 0), 99.0);
  EXPECT_EQ(round_half_up(96.875, 2), 96.88);  // 1 - 1/32, a tie that is a double
  EXPECT_EQ(round_half_up(42.046, 2), 42.05);
}

TEST(RoundHalfUp, RefusesADenominatorThatIsNotPositive) {
  EXPECT_THROW(round_half_up({1, 0}, 2), Error);
  EXPECT_THROW(round_half_up({1, -3}, 2), Error);
}

TEST(PrintedTokens, AreExactForEveryLengthAndDeviceCount) {
  for (Index tokens = 1; tokens <= 3137; tokens += 4)
    for (Index devices = 2; devices <= 10; ++devices) {
      const Fraction exact{(devices - 1) * tokens, devices};
      EXPECT_EQ(static_cast<double>(printed_tokens(exact.value())), round_half_up(exact, 0))
          << tokens << " tokens, P=" << devices;
    }
}

TEST(PrintedCompressionRate, DividesRoundedTokens) {
  EXPECT_EQ(printed_compression_rate(98.5, 10), 9.9);
  EXPECT_EQ(printed_compression_rate(98.5, 30), 3.3);
  EXPECT_EQ(printed_compression_rate(394.0 / 3, 20), 6.55);
  EXPECT_EQ(printed_compression_rate(394.0 / 3, 40), 3.28);
  EXPECT_EQ(printed_compression_rate(512.0 / 3, 18), 9.5);
}

TEST(PrintedCompressionRate, RefusesNothingToDivideBy) {
  EXPECT_THROW(printed_compression_rate(98.5, 0), Error);
  EXPECT_THROW(printed_compression_rate(98.5, std::numeric_limits<double>::min()), Error);
}

TEST(SpeedupPercent, ComparesADeviceWithTheSingleOne) {
  EXPECT_DOUBLE_EQ(speedup_percent(1000, 1, 1000), 0);
  EXPECT_DOUBLE_EQ(speedup_percent(1000, 2, 1000), 50);
  EXPECT_DOUBLE_EQ(speedup_percent(3000, 2, 1000), -50);
}

TEST(CommSpeedupPercent, IsWhatACompressionRateSaves) {
  EXPECT_DOUBLE_EQ(comm_speedup_percent(1), 0);
  EXPECT_DOUBLE_EQ(comm_speedup_percent(8), 87.5);
  // The unrounded 131/60 gives the printed 54.20, the rounded 2.18 would give 54.13.
  EXPECT_EQ(round_half_up(comm_speedup_percent(table_compression_rate(394.0 / 3, 60).value()), 2),
            54.2);
}

}  // namespace
}  // namespace thinwire::cost
