#include "thinwire/strategy/level_controller.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "thinwire/base/error.hpp"

namespace thinwire::strategy {
namespace {

constexpr std::array kBytes = {6.0, 10.0, 14.0, 22.0, 39.0};  // of 33 rows at 1 to 9 bits
constexpr int kFinest = 4;

/// A link on which a message takes latency_s + bytes / bytes_per_s, and two devices that choose
/// alike.
struct Bench {
  LevelController& controller;
  double latency_s = 0, window_s = 1e-3;
  bool states_latency = true;

  int exchange(double bytes_per_s) {
    const int level = controller.choose(
        {.bytes = kBytes, .latency_s = states_latency ? latency_s : 0, .window_s = window_s});
    const double bytes = kBytes.at(static_cast<std::size_t>(level));
    controller.observe({level, bytes, latency_s + bytes / bytes_per_s});
    return level;
  }
  std::vector<int> exchanges(int count, double bytes_per_s) {
    std::vector<int> levels;
    for (int i = 0; i < count; ++i) levels.push_back(exchange(bytes_per_s));
    return levels;
  }
};

int after(Bench& bench, int count, double bytes_per_s) {
  return bench.exchanges(count, bytes_per_s).back();
}

TEST(RateController, BeginsWithTheCoarsestLevel) {
  RateController controller;
  EXPECT_EQ(controller.choose({.bytes = kBytes, .window_s = 1.0}), 0);
}

TEST(RateController, StaysCoarseWhileTheWindowIsUnknown) {
  RateController controller;
  controller.observe({0, 6, 1e-9});
  EXPECT_EQ(controller.choose({.bytes = kBytes}), 0);
  EXPECT_EQ(controller.choose({.bytes = kBytes, .window_s = 1e-3}), kFinest);
}

TEST(RateController, TakesTheFinestLevelThatTheWindowCovers) {
  for (const auto& [bytes_per_s, level] :
       {std::pair{50e3, 4}, {30e3, 3}, {20e3, 2}, {13e3, 1}, {9e3, 0}}) {
    RateController controller;
    Bench bench{controller};
    EXPECT_EQ(after(bench, 20, bytes_per_s), level) << bytes_per_s << " byte/s";
  }
}

TEST(RateController, HeedsADropAtOnceAndARiseWithinFewExchanges) {
  RateController controller;
  Bench bench{controller};
  EXPECT_EQ(after(bench, 5, 1e6), kFinest);

  EXPECT_EQ(bench.exchange(12e3), kFinest);  // nobody can have known
  EXPECT_EQ(bench.exchange(12e3), 1);
  EXPECT_EQ(bench.exchange(1e6), 1);
  EXPECT_EQ(after(bench, 5, 1e6), kFinest);
}

TEST(RateController, CoarseMessagesOnALinkWithLatencyDoNotHoldItBack) {
  RateController controller;
  Bench bench{controller, 0.5e-3};
  EXPECT_EQ(after(bench, 5, 14e3), 0);  // 0.5 ms + 6 / 14e3

  EXPECT_EQ(after(bench, 8, 1e6), kFinest);  // 0.5 ms + 39 / 1e6
}

TEST(RateController, SpendsNoAccuracyOnLatencyThatNoLevelAvoids) {
  RateController controller;
  Bench bench{controller, 20e-3};
  EXPECT_EQ(after(bench, 10, 1e6), kFinest);  // 39 us beside 20 ms
  EXPECT_EQ(after(bench, 10, 1e3), 0);        // 39 ms beside 20 ms
}

TEST(RateController, GoesUpOnlyWithAMargin) {
  // 22 bytes take 0.95 of the window: enough to stay, not to come from below.
  const double bytes_per_s = 22 / 0.95e-3;
  RateController from_above, from_below;
  Bench above{from_above}, below{from_below};
  EXPECT_EQ(after(below, 10, 12e3), 1);
  EXPECT_EQ(after(above, 5, 1e6), kFinest);

  EXPECT_EQ(after(above, 10, bytes_per_s), 3);
  EXPECT_EQ(after(below, 10, bytes_per_s), 2);
  EXPECT_EQ(after(below, 10, 22 / 0.85e-3), 3);
  EXPECT_EQ(after(below, 10, bytes_per_s), 3);
}

TEST(RateController, LearnsNothingFromExchangesWithoutMessages) {
  RateController controller;
  controller.observe({-1, 0, 0});
  EXPECT_EQ(controller.choose({.bytes = kBytes, .window_s = 1.0}), 0);
}

TEST(RateController, ChoosesTheFinestOfEqualMessages) {
  constexpr std::array kEqual = {2.0, 2.0, 2.0};
  RateController controller;
  controller.observe({2, 2, 10.0});
  EXPECT_EQ(controller.choose({.bytes = kEqual, .window_s = 1e-3}), 2);
}

/// As of coded indices, right after frames of a finer level.
TEST(RateController, IsNotHeldToACoarserLevelThatTakesMore) {
  RateController controller;
  const std::array coded = {20.0, 24.0, 18.0, 40.0};
  controller.choose({.bytes = coded});
  controller.observe({0, 20, 20.0});

  EXPECT_EQ(controller.choose({.bytes = coded, .window_s = 0}), 2);
  EXPECT_EQ(controller.choose({.bytes = coded, .window_s = 22}), 2);
  EXPECT_EQ(controller.choose({.bytes = coded, .window_s = 50}), 3);
}

TEST(ProbingController, FindsTheLevelThatTheWindowCoversWithoutKnowingTheLatency) {
  for (const double latency_s : {0.0, 0.4e-3}) {
    ProbingController controller;
    Bench bench{controller, latency_s, 1e-3, false};
    const double bytes_per_s = 22 / (0.8e-3 - latency_s);  // level 3 takes 0.8 of the window
    EXPECT_EQ(after(bench, 6, 1e3), 0);
    const std::vector<int> levels = bench.exchanges(200, bytes_per_s);

    EXPECT_GE(std::count(levels.end() - 50, levels.end(), 3), 48) << "but for trials of level 4";
    EXPECT_EQ(std::count(levels.end() - 50, levels.end(), 2), 0);
  }
}

TEST(ProbingController, GoesDownALevelAnExchange) {
  ProbingController controller;
  Bench bench{controller, 0, 1e-3, false};
  EXPECT_EQ(after(bench, 5, 1e6), kFinest);
  EXPECT_EQ(bench.exchanges(5, 5e3), (std::vector{4, 3, 2, 1, 0}));
}

TEST(ProbingController, TriesLessOftenTheMoreItFails) {
  ProbingController controller;
  Bench bench{controller, 0, 1e-3, false};
  const std::vector<int> levels = bench.exchanges(400, 16e3);  // level 2, never 3

  const auto trials = [&](int from, int to) {
    return std::count(levels.begin() + from, levels.begin() + to, 3);
  };
  EXPECT_GE(trials(0, 64), 3);
  EXPECT_LE(trials(200, 400), 4);
  EXPECT_GE(trials(200, 400), 2);
}

TEST(MakeLevelController, RefusesAFixedLevel) {
  EXPECT_THROW(make_level_controller(LevelControl::fixed), Error);
  EXPECT_NE(make_level_controller(LevelControl::adaptive), nullptr);
}

}  // namespace
}  // namespace thinwire::strategy
