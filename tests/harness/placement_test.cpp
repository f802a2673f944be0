#include "thinwire/harness/placement.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "thinwire/base/json.hpp"

namespace thinwire::harness {
namespace {

using Cores = std::vector<int>;
using fabric::Clock;
constexpr double kNoQuota = std::numeric_limits<double>::infinity();

std::vector<Placement> on_one_host(int ranks, const Cores& allowed, double quota = kNoQuota) {
  return {static_cast<std::size_t>(ranks), Placement{0, allowed, quota, {}}};
}

TEST(BindCores, OnTheWallClockDevicesShareTheCoresOut) {
  auto places = on_one_host(2, {0, 1, 4, 5});

  bind_cores(places, 2, 2, Clock::throttled);

  EXPECT_EQ(places[0].bound, (Cores{0, 1}));
  EXPECT_EQ(places[1].bound, (Cores{4, 5}));
}

TEST(BindCores, TooFewCoresForAllLeaveTheDevicesUnbound) {
  auto places = on_one_host(3, {0, 1, 2, 3});

  bind_cores(places, 3, 2, Clock::native);

  for (const Placement& place : places) EXPECT_TRUE(place.bound.empty());
}

TEST(BindCores, UnderVirtualClocksAllUseTheSameCores) {
  auto places = on_one_host(3, {2, 3});

  bind_cores(places, 3, 2, Clock::emulated);

  for (const Placement& place : places) EXPECT_EQ(place.bound, (Cores{2, 3}));
}

TEST(BindCores, HostsAndDisjointCoresDoNotShare) {
  std::vector<Placement> places{{0, {0, 1}, kNoQuota, {}},  // one device a node
                                {1, {0, 1}, kNoQuota, {}},
                                {2, {0, 1}, kNoQuota, {}},  // a launcher bound these two
                                {2, {2, 3}, kNoQuota, {}}};

  bind_cores(places, 4, 2, Clock::native);

  EXPECT_EQ(places[1].bound, (Cores{0, 1}));
  EXPECT_EQ(places[2].bound, (Cores{0, 1}));
  EXPECT_EQ(places[3].bound, (Cores{2, 3}));
  EXPECT_FALSE(is_contended(places, 2));
}

TEST(BindCores, ATerminalTakesNoCoreFromTheDevices) {
  auto places = on_one_host(3, {0, 1});

  bind_cores(places, 2, 1, Clock::throttled);

  EXPECT_EQ(places[0].bound, Cores{0});
  EXPECT_EQ(places[1].bound, Cores{1});
  EXPECT_EQ(places[2].bound, Cores{0});
}

TEST(IsContended, CountsCoresAndQuotaOfEachHost) {
  EXPECT_FALSE(is_contended(on_one_host(2, {0, 1}), 1));
  EXPECT_TRUE(is_contended(on_one_host(3, {0, 1}), 1));
  EXPECT_TRUE(is_contended(on_one_host(2, {0, 1, 2, 3}, 1.5), 1)) << "the cgroup's quota binds";
  EXPECT_TRUE(is_contended(on_one_host(1, {0}), 2)) << "two threads on the one core of affinity";
  std::vector<Placement> places = on_one_host(2, {0, 1});
  places.push_back({2, {0}, kNoQuota, {}});
  places.push_back({2, {0}, kNoQuota, {}});
  EXPECT_TRUE(is_contended(places, 1)) << "the second host has one core for two";
}

TEST(CoreList, JoinsNeighbours) {
  EXPECT_EQ(core_list(Cores{}), "");
  EXPECT_EQ(core_list(Cores{3}), "3");
  EXPECT_EQ(core_list(Cores{0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
}

TEST(Placement, IsRecordedWithoutInfinity) {
  auto places = on_one_host(1, {0, 1});

  const Json json = placements_json(places);

  EXPECT_EQ(json, Json::parse(R"([{"host": 0, "allowed_cores": "0-1", "quota_cores": null,
                                   "bound_cores": null}])"));
}

TEST(Placement, OfOneProcessIsWhatItMayUse) {
  const auto alone = fabric::make_solo_transport();

  const std::vector<Placement> places = placements(*alone, 1, 1, Clock::emulated);

  ASSERT_EQ(places.size(), 1U);
  EXPECT_FALSE(places[0].allowed.empty());
  EXPECT_EQ(places[0].bound, Cores{places[0].allowed.front()});
}

}  // namespace
}  // namespace thinwire::harness
