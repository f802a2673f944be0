#include "thinwire/base/text.hpp"

#include <gtest/gtest.h>

#include <array>

namespace thinwire {
namespace {

constexpr std::array<std::string_view, 4> kStrategies = {"single", "voltage", "prism", "trace-b"};

TEST(Fnv1a, MatchesThePublishedVectors) {
  EXPECT_EQ(fnv1a(""), 0xcbf29ce484222325U);
  EXPECT_EQ(fnv1a("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(fnv1a("foobar"), 0x85944171f73967e8U);
}

TEST(ToHex, HasSixteenDigits) {
  EXPECT_EQ(to_hex(0), "0000000000000000");
  EXPECT_EQ(to_hex(0xaf63dc4c8601ec8cU), "af63dc4c8601ec8c");
}

TEST(ClosestName, FindsOneSlip) {
  EXPECT_EQ(closest_name("prsim", kStrategies), "prism");  // swapped
  EXPECT_EQ(closest_name("voltge", kStrategies), "voltage");
  EXPECT_EQ(closest_name("trace-bb", kStrategies), "trace-b");
  EXPECT_EQ(closest_name("PRISM", kStrategies), "prism");
}

TEST(ClosestName, IsEmptyWhenNoneIsNear) {
  EXPECT_EQ(closest_name("pipeline", kStrategies), "");
  EXPECT_EQ(closest_name("voltxyz", kStrategies), "");  // 3 of 7 letters
  EXPECT_EQ(closest_name("", kStrategies), "");
  EXPECT_EQ(closest_name("prism", {}), "");
}

TEST(ClosestName, PrefersTheNearest) {
  constexpr std::array<std::string_view, 3> kNames = {"tokens", "token", "tokens2"};

  EXPECT_EQ(closest_name("token2", kNames), "tokens");  // all at distance 1: the first
  EXPECT_EQ(closest_name("tokn", kNames), "token");
}

TEST(Suggestion, IsReadyToBeAppended) {
  EXPECT_EQ(suggestion("prizm", kStrategies), " (did you mean prism?)");
  EXPECT_EQ(suggestion("xyzzy", kStrategies), "");
}

TEST(Split, KeepsEmptyParts) {
  EXPECT_EQ(split("1,2.5,,x", ','), (std::vector<std::string>{"1", "2.5", "", "x"}));
  EXPECT_EQ(split(",", ','), (std::vector<std::string>{"", ""}));
  EXPECT_EQ(split("", ','), (std::vector<std::string>{""}));
}

TEST(Join, PutsTheSeparatorBetween) {
  EXPECT_EQ(join(kStrategies, ", "), "single, voltage, prism, trace-b");
  EXPECT_EQ(join({}, ", "), "");
}

}  // namespace
}  // namespace thinwire
