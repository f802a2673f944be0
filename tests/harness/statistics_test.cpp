#include "thinwire/harness/statistics.hpp"
#include "thinwire/base/json.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace thinwire::harness {
namespace {

TEST(Summarize, MatchesHandComputedFigures) {
  const Summary summary = summarize({4, 1, 3, 2});

  EXPECT_EQ(summary.min, 1);
  EXPECT_EQ(summary.max, 4);
  EXPECT_EQ(summary.mean, 2.5);
  EXPECT_DOUBLE_EQ(summary.sd, std::sqrt(5.0 / 3));  // squares 2.25 + 0.25 + 0.25 + 2.25 over 3
  EXPECT_EQ(summary.p50, 2.5);
  EXPECT_DOUBLE_EQ(summary.p90, 3.7);   // position 0.9 * 3 = 2.7, between 3 and 4
  EXPECT_DOUBLE_EQ(summary.p99, 3.97);  // position 2.97
}

TEST(Summarize, KeepsTheOrderOfTheSamples) {
  EXPECT_EQ(summarize({4, 1, 3}).samples, (std::vector<double>{4, 1, 3}));
}

TEST(Summarize, OfOneSampleHasNoDeviation) {
  const Json json = to_json(summarize({0.25}));

  EXPECT_EQ(json.dump(), R"({"min":0.25,"mean":0.25,"sd":null,"p50":0.25,"p90":0.25,"p99":0.25,)"
                         R"("max":0.25,"samples":[0.25]})");
}

TEST(Summarize, OfNothingIsNull) {
  const Json json = to_json(summarize({}));

  EXPECT_TRUE(json["p50"].is_null());
  EXPECT_TRUE(json["min"].is_null());
  EXPECT_EQ(json["samples"], Json::array());
}

TEST(Summarize, TurnsNonFiniteSamplesIntoNull) {
  EXPECT_TRUE(to_json(summarize({HUGE_VAL}))["samples"][0].is_null());
}

}  // namespace
}  // namespace thinwire::harness
