#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

#include "devices.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/fabric/transport.hpp"

namespace thinwire::fabric {
namespace {

using test::filled;
using test::is_filled;
using test::on_devices;

TEST(LocalTransport, GathersUnequalContributionsInRankOrder) {
  for (const int devices : {1, 2, 3, 6}) {
    std::atomic<int> right = 0;
    on_devices(devices, [&](Transport& transport) {
      std::vector<std::int64_t> sizes(static_cast<std::size_t>(devices));
      std::iota(sizes.begin(), sizes.end(), 0);  // device p contributes p bytes
      const auto mine = filled(transport.rank(), transport.rank());
      std::vector<std::byte> all(static_cast<std::size_t>(devices * (devices - 1) / 2));

      transport.all_gatherv(mine, sizes, all);

      std::size_t begin = 0;
      for (int p = 0; p < devices; begin += static_cast<std::size_t>(p++))
        if (is_filled(std::span(all).subspan(begin, static_cast<std::size_t>(p)), p, p)) ++right;
    });
    EXPECT_EQ(right, devices * devices);
  }
}

TEST(LocalTransport, GathersTowardsTheRootAlone) {
  std::atomic<int> received = 0;
  on_devices(3, [&](Transport& transport) {
    const auto mine = filled(2, 7);
    std::vector<std::byte> all(transport.rank() == 1 ? 6 : 0);

    transport.gatherv(1, mine, std::vector<std::int64_t>{2, 2, 2}, all);

    if (is_filled(all, 6, 7)) ++received;
  });
  EXPECT_EQ(received, 1);
}

TEST(LocalTransport, ScattersUnequalPartsOfTheRoot) {
  std::atomic<int> right = 0;
  on_devices(3, [&](Transport& transport) {
    const int me = transport.rank();
    const auto all = filled(me == 1 ? 6 : 0, 7);
    std::vector<std::byte> mine(static_cast<std::size_t>(2 * me));

    transport.scatterv(1, all, std::vector<std::int64_t>{0, 2, 4}, mine);

    if (is_filled(mine, 2 * me, 7)) ++right;
  });
  EXPECT_EQ(right, 3);
}

TEST(LocalTransport, SendsDownALine) {
  std::atomic<int> right = 0;
  on_devices(3, [&](Transport& transport) {
    const int me = transport.rank();
    std::vector<std::byte> theirs(static_cast<std::size_t>(me));  // me - 1 sends me bytes

    transport.send_receive(filled(me + 1, me), me == 2 ? -1 : me + 1, theirs, me - 1);

    if (is_filled(theirs, me, me - 1)) ++right;
  });
  EXPECT_EQ(right, 3);
}

TEST(LocalTransport, RefusesAReceiveBufferOfAnotherSize) {
  const auto work = [](Transport& transport) {
    std::vector<std::byte> theirs(3);
    transport.send_receive(filled(2, 1), 1 - transport.rank(), theirs, 1 - transport.rank());
  };
  EXPECT_THROW(on_devices(2, work), Error);
}

TEST(LocalTransport, GatherAllGivesEveryRanksBytes) {
  std::atomic<int> right = 0;
  on_devices(3, [&](Transport& transport) {
    const auto all = gather_all(transport, filled(3 * transport.rank(), transport.rank()));

    for (int p = 0; p < 3; ++p)
      if (is_filled(all[static_cast<std::size_t>(p)], 3 * p, p)) ++right;
  });
  EXPECT_EQ(right, 9);
}

TEST(LocalTransport, NobodyLeavesAMeetingBeforeAllHaveCome) {
  constexpr int kDevices = 6, kMeetings = 200;
  std::atomic<int> arrivals = 0;
  std::atomic<bool> is_early = false;
  on_devices(kDevices, [&](Transport& transport) {
    for (int meeting = 1; meeting <= kMeetings; ++meeting) {
      ++arrivals;
      transport.meet();
      if (arrivals < meeting * kDevices) is_early = true;
      transport.meet();
    }
  });
  EXPECT_FALSE(is_early);
}

TEST(LocalTransport, WhatWasSentMayChangeAtOnce) {
  constexpr int kDevices = 4, kCalls = 200;
  std::atomic<int> right = 0;
  on_devices(kDevices, [&](Transport& transport) {
    std::vector<std::byte> all(kDevices);
    for (int call = 0; call < kCalls; ++call) {
      const auto value_of = [&](int rank) { return std::byte(call * kDevices + rank); };
      std::vector<std::byte> mine{value_of(transport.rank())};
      transport.all_gather(mine, all);
      mine[0] = std::byte{0};
      for (int p = 0; p < kDevices; ++p)
        if (all[static_cast<std::size_t>(p)] == value_of(p)) ++right;
    }
  });
  EXPECT_EQ(right, kCalls * kDevices * kDevices);
}

TEST(LocalTransport, TurnsAreTakenOneAtATime) {
  std::atomic<int> holders = 0, most = 0;
  on_devices(4, [&](Transport& transport) {
    for (int i = 0; i < 50; ++i) {
      transport.turn().acquire();
      most = std::max(most.load(), ++holders);
      std::this_thread::yield();
      --holders;
      transport.turn().release();
    }
  });
  EXPECT_EQ(most, 1);
}

TEST(LocalTransport, AnAbandonedGroupThrowsInsteadOfWaiting) {
  const auto work = [](Transport& transport) {
    if (transport.rank() == 1) throw InputError("device 1 fails");
    for (;;) transport.meet();
  };
  const auto transports = make_local_transports(3);
  std::atomic<int> told = 0;
  std::vector<std::thread> threads;
  for (const auto& transport : transports)
    threads.emplace_back([&] {
      try {
        work(*transport);
      } catch (const InputError&) {
        abandon(*transport);
      } catch (const Error&) {
        ++told;
      }
    });
  for (std::thread& thread : threads) thread.join();

  EXPECT_EQ(told, 2);
}

TEST(SoloTransport, ReturnsWhatItIsGiven) {
  const auto transport = make_solo_transport();
  const auto mine = filled(5, 3);
  std::vector<std::byte> all(5), gathered(5), scattered(5);

  transport->meet();
  transport->all_gather(mine, all);
  transport->gatherv(0, mine, std::vector<std::int64_t>{5}, gathered);
  transport->scatterv(0, mine, std::vector<std::int64_t>{5}, scattered);
  transport->send_receive({}, -1, {}, -1);

  EXPECT_TRUE(is_filled(all, 5, 3));
  EXPECT_TRUE(is_filled(gathered, 5, 3));
  EXPECT_TRUE(is_filled(scattered, 5, 3));
  EXPECT_EQ(gather_all(*transport, mine).size(), 1U);
  abandon(*transport);  // does nothing here
  EXPECT_NO_THROW(transport->meet());
}

}  // namespace
}  // namespace thinwire::fabric
