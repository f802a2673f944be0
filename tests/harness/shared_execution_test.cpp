#include "thinwire/harness/shared_execution.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "thinwire/harness/expand.hpp"
#include "thinwire/harness/sweep_plan.hpp"

namespace thinwire::harness {
namespace {

std::vector<std::size_t> order_of(std::span<const PlannedPoint> plan) {
  std::vector<std::size_t> order;
  for (const PlannedPoint& point : plan) order.push_back(point.index);
  return order;
}

std::string key_of(KeyValues given) {
  for (const auto& [name, value] :
       KeyValues{{"model", "vit-base-16"}, {"strategy", "voltage"}, {"devices", "2"}})
    if (std::ranges::find(given, name, &KeyValues::value_type::first) == given.end())
      given.emplace_back(name, value);
  return execution_key(make_point(make_run_spec(given)));
}

TEST(ExecutionKey, IsEqualForPointsThatDifferInTheirLinksAlone) {
  const std::string key = key_of({{"rate", "10Mbps"}});

  EXPECT_NE(key, "");
  for (const KeyValues& link : {KeyValues{{"rate", "1Mbps,2Mbps"}},
                                {{"rate", "10Mbps:1Mbps"}, {"latency", "2ms"}},
                                {{"topology", "broadcast,shared"}},
                                {{"overhead", "tcp"}}})
    EXPECT_EQ(key_of(link), key) << link.front().first;
}

TEST(ExecutionKey, TellsPointsApartThatDoOtherWork) {
  const std::string key = key_of({});

  for (const KeyValues& other : {KeyValues{{"devices", "3"}},
                                 {{"overlap", "on"}},
                                 {{"repeat", "1"}},
                                 {{"io", "terminal"}},
                                 {{"slowness", "1,2"}},
                                 {{"clock", "modelled"}, {"device-gflops", "1"}},
                                 {{"iterations", "3"}}})
    EXPECT_NE(key_of(other), key) << other.front().first;
}

TEST(ExecutionKey, LeavesPointsAloneThatDependOnTheirLinkOrCannotFit) {
  EXPECT_EQ(key_of({{"clock", "throttled"}}), "");
  EXPECT_EQ(key_of({{"clock", "native"}}), "");
  EXPECT_EQ(key_of({{"strategy", "trace-b"}, {"level", "adaptive"}}), "");  // sends what fits
  EXPECT_EQ(key_of({{"devices", "300"}}), "");  // more devices than tokens
}

TEST(ExecutionKey, TellsRowsApartThatTheLinkHasChosen) {
  const KeyValues weighted{{"partition", "auto"}, {"device-gflops", "100,20"}};
  const auto key_at = [&](const char* rate) {
    KeyValues given = weighted;
    given.emplace_back("rate", rate);
    return key_of(given);
  };

  const Point fast = make_point(make_run_spec({{"strategy", "voltage"},
                                               {"devices", "2"},
                                               {"partition", "auto"},
                                               {"device-gflops", "100,20"},
                                               {"rate", "1Gbps"}}));
  Point other = fast;
  ++other.spec.rows.at(0);
  --other.spec.rows.at(1);

  EXPECT_EQ(key_at("1Gbps"), execution_key(fast));
  EXPECT_NE(execution_key(other), execution_key(fast));
}

TEST(SharedLinks, HoldsEachLinkOnce) {
  std::vector<Point> points;
  for (const char* rates : {"1Mbps,2Mbps", "2Mbps,4Mbps", "1Mbps"})
    points.push_back(make_point(make_run_spec({{"rate", rates}})));

  const SharedLinks shared = shared_links(points);

  EXPECT_EQ(shared.links.size(), 3U);
  EXPECT_EQ(shared.of_point, (std::vector<std::vector<std::size_t>>{{0, 1}, {1, 2}, {0}}));
  EXPECT_EQ(shared.links[2], points[1].spec.links()[1]);
}

TEST(ResultUnder, TakesTheTimesAndBitsOfItsLinks) {
  Result all;
  all.times = {{{{.wait_s = 1}}}, {{{.wait_s = 2}}}, {{{.wait_s = 3}}}};
  all.link_bits = {10, 20, 30};
  const RunSpec spec = make_run_spec({{"rate", "4Mbps,1Mbps"}});

  const Result result = result_under(all, spec, std::vector<std::size_t>{2, 0});

  EXPECT_EQ(result.spec.links(), spec.links());
  EXPECT_EQ(result.link_bits, (std::vector<std::int64_t>{30, 10}));
  ASSERT_EQ(result.times.size(), 2U);
  EXPECT_EQ(result.times[0][0][0].wait_s, 3);
  EXPECT_EQ(result.times[1][0][0].wait_s, 1);
}

Json strategies_under(const Json& links) {
  Json points = Json::array();
  for (const Json& link : links)
    for (const char* strategy : {"voltage", "trace-b"}) {
      points.push_back(link);
      points.back()["strategy"] = strategy;
    }
  return {{"base", {{"devices", 2}}}, {"points", points}};
}

TEST(PlanPoints, PutsPointsOfOneExecutionBehindTheFirst) {
  const std::vector<RunSpec> points =
      make_sweep(strategies_under({{{"rate", "1Mbps"}}, {{"rate", "2Mbps"}}})).points;

  const std::vector<PlannedPoint> plan = plan_points(points, Source::measured);

  EXPECT_EQ(order_of(plan), (std::vector<std::size_t>{0, 2, 1, 3}));
  EXPECT_EQ(plan[0].execution, plan[0].id);
  EXPECT_EQ(plan[1].execution, plan[0].id);
  EXPECT_EQ(plan[2].execution, plan[2].id);
  EXPECT_EQ(order_of(next_execution(plan)), (std::vector<std::size_t>{0, 2}));
  EXPECT_EQ(order_of(next_execution(std::span(plan).subspan(1))), std::vector<std::size_t>{2});
}

TEST(PlanPoints, LeavesPredictionsAndWallClocksInTheirOrder) {
  const Json links = {{{"rate", "1Mbps"}}, {{"rate", "2Mbps"}}};
  const std::vector<RunSpec> emulated = make_sweep(strategies_under(links)).points;
  const std::vector<RunSpec> throttled =
      make_sweep(strategies_under(links), {{"clock", "throttled"}}).points;

  EXPECT_EQ(order_of(plan_points(emulated, Source::predicted)),
            (std::vector<std::size_t>{0, 1, 2, 3}));
  const std::vector<PlannedPoint> plan = plan_points(throttled, Source::measured);
  EXPECT_EQ(order_of(plan), (std::vector<std::size_t>{0, 1, 2, 3}));
  EXPECT_EQ(next_execution(plan).size(), 1U);
}

TEST(PlanPoints, SplitsAnExecutionThatWouldCarryTooManyLinks) {
  Json links = Json::array();
  for (int i = 0; i < 3; ++i)
    links.push_back({{"rate", "1Mbps..1000Mbps:log:100"}, {"latency", fmt::format("{}ms", i)}});
  const std::vector<RunSpec> points = make_sweep({{"points", links}}).points;

  const std::vector<PlannedPoint> plan = plan_points(points, Source::measured);

  EXPECT_EQ(next_execution(plan).size(), 2U);  // 200 links; all three would have 300
}

}  // namespace
}  // namespace thinwire::harness
