#include "thinwire/fabric/link_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "thinwire/base/error.hpp"

namespace thinwire::fabric {
namespace {

using Times = std::vector<double>;
using Sizes = std::vector<std::int64_t>;

/// 8 bit/s: a byte takes a second.
Link byte_a_second(Topology topology, double latency_s = 0, std::vector<double> bytes_per_s = {1}) {
  Link link{{}, Seconds(latency_s), topology};
  for (const double rate : bytes_per_s) link.rates.push_back(Rate::bits_per_second(8 * rate));
  return link;
}

Times all_gather(LinkModel& model, const Times& ready, const Sizes& bytes) {
  Times arrival(ready.size());
  model.all_gather(ready, bytes, arrival);
  return arrival;
}

Times gather(LinkModel& model, int root, const Times& ready, const Sizes& bytes) {
  Times arrival(ready.size());
  model.gather(root, ready, bytes, arrival);
  return arrival;
}

TEST(LinkModelBroadcast, TransmitsOnceForAll) {
  LinkModel model(byte_a_second(Topology::broadcast, 0.5), 3);

  const Times arrival = all_gather(model, {0, 1, 2}, {4, 2, 1});

  EXPECT_EQ(arrival, (Times{3.5, 4.5, 4.5}));  // ends at 4, 3, 3; each hears the others' latest
  EXPECT_EQ(model.link_bits(), 8 * 7);
}

TEST(LinkModelBroadcast, RunsAtTheSlowestDevice) {
  LinkModel model(byte_a_second(Topology::broadcast, 0, {4, 2, 1}), 3);

  EXPECT_EQ(all_gather(model, {0, 0, 0}, {4, 0, 0}), (Times{0, 4, 4}));
}

TEST(LinkModelUnicast, SendsACopyToEveryPeerInRounds) {
  LinkModel model(byte_a_second(Topology::unicast, 0.25), 3);

  const Times arrival = all_gather(model, {0, 0, 0}, {1, 2, 3});

  // Round 1: 0>1 ends 1, 1>2 ends 2, 2>0 ends 3. Round 2: 0>2 from 2 (port) to 3,
  // 1>0 from 3 (port) to 5, 2>1 from 3 to 6.
  EXPECT_EQ(arrival, (Times{5.25, 6.25, 3.25}));
  EXPECT_EQ(model.link_bits(), 8 * 2 * 6);
}

TEST(LinkModelUnicast, TwoDevicesSendInBothDirectionsAtOnce) {
  LinkModel model(byte_a_second(Topology::unicast), 2);

  EXPECT_EQ(all_gather(model, {1, 0}, {2, 5}), (Times{5, 3}));
}

TEST(LinkModelUnicast, RunsEachCopyAtTheSlowerEnd) {
  LinkModel model(byte_a_second(Topology::unicast, 0, {4, 2, 1}), 3);

  // Device 0 alone: 0>1 at 2 B/s from 0 to 2, then 0>2 at 1 B/s to 6.
  EXPECT_EQ(all_gather(model, {0, 0, 0}, {4, 0, 0}), (Times{0, 2, 6}));
}

TEST(LinkModelShared, CarriesOneCopyAtATime) {
  LinkModel model(byte_a_second(Topology::shared, 0.5), 3);

  const Times arrival = all_gather(model, {1, 0, 1}, {1, 2, 3});

  // 1>2 0..2, 1>0 2..4, 0>1 4..5, 0>2 5..6, 2>0 6..9, 2>1 9..12
  EXPECT_EQ(arrival, (Times{9.5, 12.5, 6.5}));
  EXPECT_EQ(model.link_bits(), 8 * 2 * 6);
}

TEST(LinkModel, KeepsItsStateUntilReset) {
  for (const Topology topology : {Topology::broadcast, Topology::unicast, Topology::shared}) {
    SCOPED_TRACE(to_string(topology));
    LinkModel model(byte_a_second(topology), 2);
    const Times first = all_gather(model, {0, 0}, {3, 3});
    const double latest = std::ranges::max(first);

    const Times second = all_gather(model, {0, 0}, {3, 0});
    model.reset();
    const Times again = all_gather(model, {0, 0}, {3, 3});

    EXPECT_EQ(second, (Times{0, latest + 3}));
    EXPECT_EQ(again, first);
    EXPECT_EQ(model.link_bits(), 8 * 6);
  }
}

TEST(LinkModel, DoesNotSendEmptyMessages) {
  for (const Topology topology : {Topology::broadcast, Topology::unicast, Topology::shared}) {
    SCOPED_TRACE(to_string(topology));
    LinkModel model(byte_a_second(topology, 9), 3);

    EXPECT_EQ(all_gather(model, {5, 6, 7}, {0, 0, 0}), (Times{0, 0, 0}));
    EXPECT_EQ(model.link_bits(), 0);
  }
}

TEST(LinkModel, OneDeviceSendsNothing) {
  for (const Topology topology : {Topology::broadcast, Topology::unicast, Topology::shared}) {
    LinkModel model(byte_a_second(topology), 1);

    EXPECT_EQ(all_gather(model, {1}, {100}), (Times{0}));
    EXPECT_EQ(model.link_bits(), 0);
  }
}

TEST(LinkModel, UnlimitedRateLeavesReadyTimeAndLatency) {
  LinkModel model({{Rate::unlimited()}, Seconds(0.5), Topology::unicast}, 2);

  EXPECT_EQ(all_gather(model, {3, 1}, {1'000'000'000'000, 7}), (Times{1.5, 3.5}));
}

TEST(LinkModelGather, ServesByReadyTimeThenDevice) {
  LinkModel model(byte_a_second(Topology::unicast, 0.5), 4);
  std::vector<Transfer> log;
  Times arrival(4);

  model.gather(1, Times{2, 9, 0, 2}, Sizes{1, 50, 3, 1}, arrival, &log);

  // Device 2 holds root's port from 0 to 3, then 0 to 4, then 3 to 5.
  EXPECT_EQ(arrival, (Times{0, 5.5, 0, 0}));
  ASSERT_EQ(log.size(), 3U);
  EXPECT_EQ(log[0].from, 2);
  EXPECT_EQ(log[1].from, 0);
  EXPECT_EQ(log[2].from, 3);
  EXPECT_EQ(log[2].start_s, 4);
  EXPECT_EQ(model.link_bits(), 8 * 5);
}

TEST(LinkModelGather, DevicesThatBroadcastDoNotContend) {
  LinkModel model(byte_a_second(Topology::broadcast), 3);

  EXPECT_EQ(gather(model, 0, {0, 0, 1}, {9, 3, 3}), (Times{4, 0, 0}));
}

TEST(LinkModel, LogsEveryTransfer) {
  LinkModel model(byte_a_second(Topology::broadcast, 0.5), 2);
  std::vector<Transfer> log;
  Times arrival(2);

  model.all_gather(Times{1, 2}, Sizes{3, 4}, arrival, &log);

  ASSERT_EQ(log.size(), 2U);
  EXPECT_EQ(log[1].from, 1);
  EXPECT_EQ(log[1].to, 1);
  EXPECT_EQ(log[1].start_s, 2);
  EXPECT_EQ(log[1].end_s, 6);
  EXPECT_EQ(log[1].arrival_s, 6.5);
}

TEST(LinkModel, RefusesRatesThatFitNoDeviceCount) {
  EXPECT_THROW(LinkModel(byte_a_second(Topology::unicast, 0, {1, 2}), 3), InputError);
}

// --- an independent simulator: integer ticks, everything stepped ------------------------------

struct Copy {
  int from, to, round;
  std::int64_t ready, bytes;
  std::int64_t start = -1;
};

std::vector<Copy> copies_of(const std::vector<std::int64_t>& ready, const Sizes& bytes) {
  std::vector<Copy> copies;
  const int devices = static_cast<int>(ready.size());
  for (int from = 0; from < devices; ++from)
    for (int round = 1; round < devices; ++round)
      copies.push_back({from, (from + round) % devices, round,
                        ready[static_cast<std::size_t>(from)],
                        bytes[static_cast<std::size_t>(from)]});
  return copies;
}

/// True when everything that must use a resource of `copy` before it has done so by `tick`.
bool may_start(const Copy& copy, const std::vector<Copy>& copies, std::int64_t tick,
               Topology topology) {
  if (copy.ready > tick) return false;
  return std::ranges::all_of(copies, [&](const Copy& other) {
    const bool is_finished = other.start >= 0 && other.start + other.bytes <= tick;
    const bool is_before =
        topology == Topology::shared
            ? std::tuple(other.ready, other.from, other.round) <
                  std::tuple(copy.ready, copy.from, copy.round)
            : other.round < copy.round && (other.from == copy.from || other.to == copy.to);
    return !is_before || is_finished;
  });
}

Times simulate(const std::vector<std::int64_t>& ready, const Sizes& bytes, Topology topology) {
  std::vector<Copy> copies = copies_of(ready, bytes);
  for (std::int64_t tick = 0; tick < 2000; ++tick)
    for (bool has_changed = true; has_changed;) {
      has_changed = false;
      for (Copy& copy : copies)
        if (copy.start < 0 && may_start(copy, copies, tick, topology)) {
          copy.start = tick;
          has_changed = true;
        }
    }
  Times arrival(ready.size());
  for (const Copy& copy : copies) {
    double& latest = arrival[static_cast<std::size_t>(copy.to)];
    latest = std::max(latest, static_cast<double>(copy.start + copy.bytes));
  }
  return arrival;
}

TEST(LinkModel, PacketHeadersTakeTimeAndAreCarried) {
  for (const Topology topology : {Topology::broadcast, Topology::unicast, Topology::shared}) {
    Link link = byte_a_second(topology);
    link.overhead = {2, 10};  // 25 bytes: three packets, 31 bytes
    LinkModel with(link, 2), without(byte_a_second(topology), 2);

    EXPECT_EQ(all_gather(with, {0, 0}, {25, 0}), all_gather(without, {0, 0}, {31, 0}));
    EXPECT_EQ(with.link_bits(), without.link_bits());
  }
}

TEST(LinkModel, AgreesWithATickByTickSimulation) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 60; ++trial)
    for (const Topology topology : {Topology::unicast, Topology::shared}) {
      const auto devices = static_cast<std::size_t>(2 + trial % 5);
      std::vector<std::int64_t> ready(devices);
      Sizes bytes(devices);
      for (auto& value : ready) value = static_cast<std::int64_t>(random() % 20);
      for (auto& value : bytes) value = static_cast<std::int64_t>(1 + random() % 9);
      LinkModel model(byte_a_second(topology), static_cast<int>(devices));

      const Times arrival = all_gather(model, Times(ready.begin(), ready.end()), bytes);

      EXPECT_EQ(arrival, simulate(ready, bytes, topology))
          << "trial " << trial << ", " << to_string(topology);
    }
}

}  // namespace
}  // namespace thinwire::fabric
