#include "link_shim/collective_times.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace thinwire::link_shim {
namespace {

using fabric::Topology;
using Bytes = std::vector<std::int64_t>;

/// 1 kB takes a second; latency 0.25 s.
fabric::Link slow_link(Topology topology = Topology::unicast) {
  return {{Rate::bits_per_second(8000)}, Seconds(0.25), topology};
}

std::vector<double> leave_s(const CollectiveTimes& times, int members) {
  std::vector<double> result;
  for (int p = 0; p < members; ++p) result.push_back(times.after(p).ready_s);
  return result;
}

using Times = std::vector<double>;

TEST(CollectiveTimes, AllGatherWaitsForArrivalsAndForItsOwnBits) {
  const std::vector<Entry> entries = {{.ready_s = 10}, {.ready_s = 14}};
  CollectiveTimes times(slow_link(), entries);

  times.all_gather(Bytes{1000, 2000});

  EXPECT_EQ(leave_s(times, 2), (Times{16.25, 16}));  // 14 + 2 + latency; its own bits have left
  EXPECT_EQ(times.link_bits(), 24000);
  EXPECT_EQ(times.after(0).transmitter_free_s, 11);
  EXPECT_EQ(times.after(0).port_free_s, 16);
}

TEST(CollectiveTimes, WhatIsBusyWhenItBeginsComesFirst) {
  const std::vector<Entry> entries = {{.ready_s = 10, .transmitter_free_s = 12},
                                      {.ready_s = 10, .port_free_s = 13}};
  CollectiveTimes times(slow_link(), entries);

  times.all_gather(Bytes{1000, 0});

  EXPECT_EQ(leave_s(times, 2), (Times{14, 14.25}));
}

TEST(CollectiveTimes, ABroadcastNeedsACopyAPeerExceptOnTheAir) {
  const std::vector<Entry> entries(3);
  CollectiveTimes unicast(slow_link(), entries), broadcast(slow_link(Topology::broadcast), entries);

  unicast.all_gather(Bytes{0, 1000, 0});
  broadcast.all_gather(Bytes{0, 1000, 0});

  EXPECT_EQ(leave_s(unicast, 3), (Times{2.25, 2, 1.25}));
  EXPECT_EQ(leave_s(broadcast, 3), (Times{1.25, 1, 1.25}));
}

TEST(CollectiveTimes, AllToAllTakesOneRoundAPeer) {
  const std::vector<Entry> entries(3);
  CollectiveTimes times(slow_link(), entries);

  times.all_to_all(Bytes{9, 1000, 1000, 1000, 9, 1000, 1000, 1000, 9});

  EXPECT_EQ(leave_s(times, 3), (Times{2.25, 2.25, 2.25}));
  EXPECT_EQ(times.link_bits(), 6 * 8000);
}

TEST(CollectiveTimes, GatherAndScatterQueueAtTheRoot) {
  const std::vector<Entry> entries(3);
  CollectiveTimes gather(slow_link(), entries), scatter(slow_link(), entries);

  gather.gather(0, Bytes{0, 1000, 2000});
  scatter.scatter(0, Bytes{0, 1000, 2000});

  EXPECT_EQ(leave_s(gather, 3), (Times{3.25, 1, 3}));
  EXPECT_EQ(leave_s(scatter, 3), (Times{3, 1.25, 3.25}));
}

TEST(CollectiveTimes, AllReduceGoesTwiceRoundTheRing) {
  const std::vector<Entry> entries(4);
  CollectiveTimes half(slow_link(), entries), whole(slow_link(), entries);
  const Bytes chunks = balanced_chunks(1000, 4, 4);

  half.reduce_scatter(chunks);
  whole.all_reduce(chunks);

  EXPECT_EQ(leave_s(half, 4), Times(4, 3 * 1.25));
  EXPECT_EQ(leave_s(whole, 4), Times(4, 6 * 1.25));
  EXPECT_EQ(whole.link_bits(), 6 * 4 * 8000);
}

TEST(CollectiveTimes, ReduceSendsTheChunksOnToTheRoot) {
  const std::vector<Entry> entries(2);
  CollectiveTimes times(slow_link(), entries);

  times.reduce(1, Bytes{1000, 1000});

  EXPECT_EQ(leave_s(times, 2), (Times{2.25, 2.5}));
}

TEST(CollectiveTimes, AScanPassesFromMemberToMember) {
  const std::vector<Entry> entries(3);
  CollectiveTimes times(slow_link(), entries);

  times.scan(1000);

  EXPECT_EQ(leave_s(times, 3), (Times{1, 2.25, 2.5}));
}

TEST(CollectiveTimes, ABarrierCostsTheLatencyAfterTheLastOfTheOthers) {
  const std::vector<Entry> entries = {{.ready_s = 1}, {.ready_s = 2}, {.ready_s = 9}};
  CollectiveTimes times(slow_link(), entries);

  times.barrier();

  EXPECT_EQ(leave_s(times, 3), (Times{9.25, 9.25, 9}));
}

TEST(CollectiveTimes, ASharedMediumIsAsBusyAsTheLatestThatSawIt) {
  const std::vector<Entry> entries = {{.ready_s = 1, .medium_free_s = 3},
                                      {.ready_s = 1, .medium_free_s = 5}};
  CollectiveTimes times(slow_link(Topology::shared), entries);

  times.all_gather(Bytes{1000, 1000});

  EXPECT_EQ(leave_s(times, 2), (Times{7.25, 7}));
  EXPECT_EQ(times.after(1).medium_free_s, 7);
}

TEST(BalancedChunks, DifferByOneElementAtMostAndKeepTheSum) {
  EXPECT_EQ(balanced_chunks(7, 8, 3), (Bytes{24, 16, 16}));
  for (const std::int64_t count : {0, 1, 5, 1000}) {
    const Bytes chunks = balanced_chunks(count, 4, 4);

    EXPECT_EQ(std::accumulate(chunks.begin(), chunks.end(), std::int64_t{0}), 4 * count);
    EXPECT_LE(std::ranges::max(chunks) - std::ranges::min(chunks), 4);
  }
}

}  // namespace
}  // namespace thinwire::link_shim
