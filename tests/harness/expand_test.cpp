#include "thinwire/harness/expand.hpp"
#include "thinwire/base/json.hpp"

#include <gtest/gtest.h>

#include "support/messages.hpp"
#include "thinwire/base/error.hpp"

namespace thinwire::harness {
namespace {

using test::mentions;

std::string refusal(const char* document) {
  try {
    make_sweep(Json::parse(document));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Expand, MakesTheProductOfLists) {
  const std::vector<RunSpec> points = expand({{"devices", "2,3"}, {"segments", "10,20,30"}});

  ASSERT_EQ(points.size(), 6U);
  EXPECT_EQ(points[0].devices, 2);
  EXPECT_EQ(points[1].devices, 2);
  EXPECT_EQ(points[1].segments, 20);
  EXPECT_EQ(points[5].devices, 3);
  EXPECT_EQ(points[5].segments, 30);
}

TEST(Expand, CountsThroughRanges) {
  const std::vector<RunSpec> points = expand({{"devices", "2"}, {"compression-rate", "2..10"}});

  ASSERT_EQ(points.size(), 9U);
  EXPECT_EQ(points.back().compression_rate, 10);
  EXPECT_EQ(expand({{"devices", "2..8:log:3"}}).size(), 3U);
  EXPECT_EQ(expand({{"devices", "2..8:log:3"}})[1].devices, 4);
}

TEST(Expand, KeepsLinksAndPerDeviceValuesInOnePoint) {
  const std::vector<RunSpec> points =
      expand({{"devices", "2"}, {"rate", "10Mbps,50Mbps"}, {"slowness", "1,2"}});

  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].links().size(), 2U);
}

TEST(Expand, KeepsTracesInOnePointButOnAWallClock) {
  const std::string folder = THINWIRE_SOURCE_DIR "/experiments/traces/";
  const std::string files = folder + "wifi.csv," + folder + "lte.csv";
  const std::vector<RunSpec> points =
      expand({{"devices", "2"}, {"clock", "emulated,throttled"}, {"rate-trace", files}});

  ASSERT_EQ(points.size(), 3U);
  ASSERT_EQ(points[0].links().size(), 2U);
  EXPECT_EQ(points[0].links()[1].trace->name(), "lte.csv");
  ASSERT_EQ(points[2].links().size(), 1U);
  EXPECT_EQ(points[2].links()[0].trace->name(), "lte.csv");
  EXPECT_EQ(points[2].links()[0], points[0].links()[1]);
}

TEST(Expand, GivesRealTimeAPointForEachLink) {
  const std::vector<RunSpec> points =
      expand({{"devices", "2"}, {"clock", "throttled,emulated"}, {"rate", "10Mbps,50Mbps"}});

  ASSERT_EQ(points.size(), 3U);
  EXPECT_EQ(points[0].clock, fabric::Clock::throttled);
  EXPECT_EQ(points[0].links().size(), 1U);
  EXPECT_EQ(points[1].rate[0][0], Rate::parse("50Mbps"));
  EXPECT_EQ(points[2].links().size(), 2U);
}

TEST(Expand, GivesChosenLevelsAPointForEachLink) {
  const std::vector<RunSpec> points = expand({{"devices", "2"},
                                              {"strategy", "trace-b"},
                                              {"level", "adaptive,probing,0"},
                                              {"rate", "10Mbps,50Mbps"},
                                              {"latency", "0s,2ms"}});

  ASSERT_EQ(points.size(), 9U);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(points[i].links().size(), 1U);
  EXPECT_EQ(points[0].level_control, strategy::LevelControl::adaptive);
  EXPECT_EQ(points[4].level_control, strategy::LevelControl::probing);
  EXPECT_EQ(points[3].rate[0][0], Rate::parse("50Mbps"));
  EXPECT_EQ(points[3].latency[0], Seconds::parse("2ms"));
  EXPECT_EQ(points[8].links().size(), 4U);
  EXPECT_EQ(points[8].level, 0);
  EXPECT_THROW(expand({{"strategy", "trace-b"}, {"level", "adaptive"}, {"rate", ""}}), InputError);
}

TEST(Expand, TakesFileNamesWhole) {
  const std::vector<RunSpec> points = expand({{"input", "../data/a,b..c.png"}});

  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].input, "../data/a,b..c.png");
}

TEST(Expand, KeepsEqualPointsOnce) {
  EXPECT_EQ(expand({{"devices", "2,2,3"}}).size(), 2U);
}

TEST(Expand, ChecksEveryPointAndNamesTheWrongOne) {
  try {
    expand({{"devices", "2,0"}});
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_TRUE(mentions(error.what(), {"point 2 of 2", "--devices=0"}));
  }
}

TEST(Expand, RefusesFilesThatPointsWouldOverwrite) {
  EXPECT_THROW(expand({{"devices", "2,3"}, {"outputs", "out.safetensors"}}), InputError);
  EXPECT_THROW(expand({{"devices", "2,3"}, {"trace", "trace.json"}}), InputError);
  EXPECT_NO_THROW(expand({{"devices", "2"}, {"trace", "trace.json"}}));
}

TEST(MakeSweep, JoinsMatrixAndExplicitPointsOverTheBase) {
  const Sweep sweep = make_sweep(Json::parse(R"({
    "name": "table", "base": {"model": "bert-base", "iterations": 3, "segments": 9},
    "matrix": {"devices": [2, 3], "segments": "10..11"},
    "points": [{"strategy": "single", "segments": null}, {"devices": 3},
               {"devices": 2, "segments": [13, 1]}]})"));

  EXPECT_EQ(sweep.name, "table");
  ASSERT_EQ(sweep.points.size(), 8U);
  for (const RunSpec& point : sweep.points) EXPECT_EQ(point.iterations, 3);
  EXPECT_EQ(sweep.points[3].segments, 11);
  EXPECT_EQ(sweep.points[4].strategy, "single");
  EXPECT_FALSE(sweep.points[4].segments.has_value());
  EXPECT_EQ(sweep.points[5].segments, 9);
  EXPECT_EQ(sweep.points[7].segments, 1);
}

TEST(MakeSweep, LetsTheCommandLineWin) {
  const Json document =
      Json::parse(R"({"base": {"iterations": 3}, "matrix": {"devices": [2, 3]}})");

  const Sweep sweep = make_sweep(document, {{"iterations", "1"}, {"devices", "4"}});

  ASSERT_EQ(sweep.points.size(), 1U);
  EXPECT_EQ(sweep.points[0].devices, 4);
  EXPECT_EQ(sweep.points[0].iterations, 1);
}

TEST(MakeSweep, LeavesOutWhatAnExclusionMatches) {
  const Sweep sweep = make_sweep(Json::parse(R"({
    "base": {"model": "vit-base-16", "latency": "2ms"},
    "matrix": {"strategy": ["voltage", "prism"], "devices": [2, 3, 4], "segments": [1, 2]},
    "points": [{"strategy": "voltage", "devices": 6}],
    "exclude": [{"strategy": "prism", "devices": "3..4", "latency": "0.002s"},
                {"strategy": "voltage", "segments": [1, 2]}]})"));

  ASSERT_EQ(sweep.points.size(), 3U);
  EXPECT_EQ(sweep.points[0].strategy, "prism");
  EXPECT_EQ(sweep.points[0].devices, 2);
  EXPECT_EQ(sweep.points[1].segments, 2);
  EXPECT_EQ(sweep.points[2].devices, 6);
}

TEST(MakeSweep, ExcludesWhatCannotBeCombined) {
  const Sweep sweep = make_sweep(Json::parse(R"({
    "matrix": {"strategy": ["single", "voltage"], "devices": [1, 2]},
    "exclude": [{"strategy": "single", "devices": 2}]})"));

  EXPECT_EQ(sweep.points.size(), 3U);
}

TEST(MakeSweep, RefusesExclusionsThatMatchNothing) {
  EXPECT_TRUE(mentions(refusal(R"({"matrix": {"devices": [2, 3]},
                           "exclude": [{"devices": 3}, {"devices": 4}]})"),
                       {"2 of 2", R"({"devices":4})", "matches no point"}));
  EXPECT_TRUE(mentions(refusal(R"({"exclude": {"devices": 2}})"), {"list of objects"}));
  EXPECT_TRUE(mentions(refusal(R"({"exclude": [{}]})"), {"an option is needed"}));
  EXPECT_TRUE(mentions(refusal(R"({"exclude": [{"devics": 2}]})"), {"devices?"}));
  EXPECT_TRUE(mentions(refusal(R"({"exclude": [{"devices": "two"}]})"), {"--devices=two"}));
}

TEST(MakeSweep, ForgivesExclusionsThatTheCommandLineOverrules) {
  const Json document =
      Json::parse(R"({"matrix": {"devices": [2, 3]}, "exclude": [{"devices": 3}]})");

  EXPECT_EQ(make_sweep(document, {{"devices", "2,4"}}).points.size(), 2U);
}

TEST(MakeSweep, RefusesUnknownKeysAndWrongForms) {
  EXPECT_TRUE(mentions(refusal(R"({"matix": {}})"), {"'matix'", "matrix?"}));
  EXPECT_TRUE(mentions(refusal(R"({"base": {"devics": 2}})"), {"devices?"}));
  EXPECT_TRUE(mentions(refusal(R"({"points": {}})"), {"list"}));
  EXPECT_TRUE(mentions(refusal(R"({"points": []})"), {"without points"}));
  EXPECT_TRUE(mentions(refusal(R"({"name": 3})"), {"name"}));
  EXPECT_TRUE(mentions(refusal("[]"), {"object"}));
  EXPECT_TRUE(mentions(refusal(R"({"matrix": {"devices": "2..x"}})"), {"--devices=2..x"}));
}

}  // namespace
}  // namespace thinwire::harness
