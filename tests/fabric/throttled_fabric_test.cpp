#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "devices.hpp"
#include "schedule.hpp"
#include "terminal_schedule.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/fabric/fabric.hpp"
#include "unit_clock.hpp"

namespace thinwire::fabric {
namespace {

using test::filled;
using test::on_devices;
using test::play;

FabricOptions throttled(Topology topology, double bit_per_s) {
  FabricOptions options;
  options.clock = Clock::throttled;
  options.links = {{{Rate::bits_per_second(bit_per_s)}, Seconds(0), topology}};
  return options;
}

TEST(ThrottledClock, MovesTheSameDataUnderEveryTopology) {
  for (const int devices : {1, 2, 3, 6})
    for (const Topology topology : {Topology::broadcast, Topology::unicast, Topology::shared}) {
      SCOPED_TRACE(testing::Message() << devices << " devices, " << to_string(topology));
      on_devices(devices, [&](Transport& transport) {
        const auto fabric = make_fabric(transport, throttled(topology, 1e9));
        bool is_data_right = false;
        for (int iteration = 0; iteration < 2; ++iteration) {
          play({}, *fabric, is_data_right);
          EXPECT_TRUE(is_data_right);
        }
      });
    }
}

/// From this device's publishing to the delivery; it may come to its wait late.
double transfer_s(const LinkTimes& times) {
  return times.wait_s + times.hidden_s;
}

TEST(ThrottledClock, WaitsForTheEndOfAnOutage) {
  const RateTrace trace("t", {{0, 80e6}, {1e-3, 0}, {21e-3, 80e6}});
  on_devices(2, [&](Transport& transport) {
    FabricOptions options = throttled(Topology::unicast, 1);
    options.links = {link_of(trace)};
    const auto fabric = make_fabric(transport, options);
    const auto mine = filled(20'000, 1);  // 2 ms, of which one at most precedes the outage
    std::vector<std::byte> all(40'000);
    fabric->begin_iteration();

    fabric->wait(fabric->all_gather({mine}, all));

    const LinkTimes times = fabric->end_iteration().links.front();
    EXPECT_GE(times.compute_s + times.wait_s, 0.0219);  // from the trace's begin on
  });
}

// Lower bounds only: a loaded machine may always be later.
TEST(ThrottledClock, ATransferTakesAtLeastItsBitsOverTheRate) {
  struct Case {
    Topology topology;
    int transmissions;  // that precede the last delivery, of 3 devices' 10 kB each
  };
  for (const auto& [topology, transmissions] :
       {Case{Topology::broadcast, 1}, Case{Topology::unicast, 2}, Case{Topology::shared, 6}}) {
    SCOPED_TRACE(to_string(topology));
    std::array<double, 3> seen_s{};  // the first to publish sees all transmissions
    on_devices(3, [&, topology = topology](Transport& transport) {
      const auto fabric = make_fabric(transport, throttled(topology, 80e6));  // 1 ms a message
      const auto mine = filled(10'000, 1);
      std::vector<std::byte> all(30'000);
      fabric->begin_iteration();
      fabric->wait(fabric->all_gather({mine}, all));

      const DeviceIteration iteration = fabric->end_iteration();

      const LinkTimes& times = iteration.links.front();
      seen_s.at(static_cast<std::size_t>(transport.rank())) = transfer_s(times);
      EXPECT_NEAR(times.compute_s + times.wait_s, iteration.wall_s, 1e-12);
      EXPECT_EQ(iteration.link_bits.front(),
                8 * 10'000 * 3 * (topology == Topology::broadcast ? 1 : 2));
    });
    EXPECT_GE(std::ranges::max(seen_s), 0.84e-3 * transmissions);
  }
}

TEST(ThrottledClock, TransfersGoOnDuringCompute) {
  on_devices(2, [](Transport& transport) {
    const auto fabric = make_fabric(transport, throttled(Topology::unicast, 80e6));
    const auto mine = filled(10'000, 1);
    std::vector<std::byte> all(20'000);
    fabric->begin_iteration();
    Pending pending = fabric->all_gather({mine}, all);
    fabric->compute({"work", 0}, [](Operations&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));  // 100 times the transfer
    });
    fabric->wait(std::move(pending));

    const DeviceIteration iteration = fabric->end_iteration();

    EXPECT_GE(iteration.links.front().hidden_s, 0.8e-3);
    EXPECT_LT(iteration.links.front().hidden_s, iteration.wall_s);
  });
}

TEST(ThrottledClock, LatencyIsAddedToAMessage) {
  on_devices(2, [](Transport& transport) {
    FabricOptions options = throttled(Topology::unicast, 1e12);
    options.links.front().latency = Seconds(0.02);
    const auto fabric = make_fabric(transport, options);
    const auto mine = filled(1, 1);
    std::vector<std::byte> all(2);
    fabric->begin_iteration();
    fabric->wait(fabric->all_gather({mine}, all));

    EXPECT_GE(transfer_s(fabric->end_iteration().links.front()), 0.0199);
  });
}

TEST(ThrottledClock, AMessageBetweenTwoTakesItsBitsOverTheRate) {
  on_devices(3, [](Transport& transport) {
    const auto fabric = make_fabric(transport, throttled(Topology::unicast, 80e6));
    const int me = transport.rank();
    const auto mine = filled(10'000, me);  // 1 ms
    std::vector<std::byte> theirs(me == 0 ? 0 : 10'000);
    fabric->begin_iteration();
    Pending pending = fabric->send_receive({mine}, me == 2 ? -1 : me + 1, theirs);
    fabric->compute({"work", 0}, [](Operations&) {});
    const Delivery delivery = fabric->wait(std::move(pending));

    EXPECT_TRUE(me == 0 || test::is_filled(delivery.from(me - 1), 10'000, me - 1));
    fabric->mark(Milestone::computed);
    const DeviceIteration iteration = fabric->end_iteration();
    if (me != 2) {  // which sends nothing and may come late
      EXPECT_GE(transfer_s(iteration.links.front()), 0.8e-3);
      EXPECT_GE(test::milestone_s(iteration, Milestone::computed), 0.8e-3);
    }
    EXPECT_EQ(iteration.link_bits.front(), 2 * 80'000);
    EXPECT_LE(test::milestone_s(iteration, Milestone::computed), iteration.wall_s);
    ASSERT_EQ(iteration.windows_s.size(), 1U);
    EXPECT_LT(iteration.windows_s.front(), iteration.wall_s);
  });
}

TEST(ThrottledClock, ATerminalMovesTheSameDataUnderEveryTopology) {
  for (const int devices : {1, 2, 3})
    for (const Topology topology : {Topology::broadcast, Topology::unicast, Topology::shared}) {
      SCOPED_TRACE(testing::Message() << devices << " devices, " << to_string(topology));
      test::on_devices_and_terminal(devices, [&](Transport& all, Transport* part) {
        const auto fabric = make_fabric_with_terminal(all, part, throttled(topology, 1e9));
        for (int i = 0; i < 2; ++i) {
          bool is_data_right = false;
          const DeviceIteration iteration = test::play_with_terminal(*fabric, is_data_right);

          EXPECT_TRUE(is_data_right);
          const FabricOptions modelled = test::modelled_options(devices, {});
          const Link link{{Rate::unlimited()}, Seconds(0), topology};
          EXPECT_EQ(iteration.link_bits.front(),
                    test::TerminalReplay(link, devices, modelled).link_bits());
        }
      });
    }
}

TEST(ThrottledClock, AScatterPacesOneMessageAfterTheOther) {
  test::on_devices_and_terminal(2, [](Transport& all, Transport* devices) {
    const auto fabric = make_fabric_with_terminal(all, devices, throttled(Topology::unicast, 80e6));
    const auto part = filled(10'000, 1);  // 1 ms
    std::vector<std::byte> input(fabric->is_terminal() ? 0 : 10'000);
    std::vector<Payload> payloads;
    if (fabric->is_terminal()) payloads = {{part}, {part}};
    fabric->begin_iteration();
    fabric->wait(fabric->scatter(payloads, input));

    // A device may come late, when most of the time has passed; the terminal publishes first.
    const LinkTimes times = fabric->end_iteration().links.front();
    if (fabric->is_terminal()) {
      EXPECT_GE(transfer_s(times), 1.7e-3);
    }
  });
}

TEST(ThrottledClock, AnErrorOfTheTransferReachesTheWaitingDevice) {
  const auto transport = make_solo_transport();
  const auto fabric = make_fabric(*transport, throttled(Topology::unicast, 1e9));
  const auto mine = filled(3, 1);
  std::vector<std::byte> too_small(2);
  fabric->begin_iteration();

  EXPECT_THROW(fabric->wait(fabric->all_gather({mine}, too_small)), Error);
}

TEST(ThrottledClock, ADeviceThatFailsDuringATransferEndsAll) {
  const auto work = [](Transport& transport) {
    const auto fabric = make_fabric(transport, throttled(Topology::unicast, 80e6));
    const auto mine = filled(10'000, 1);
    std::vector<std::byte> all(20'000);
    fabric->begin_iteration();
    Pending pending = fabric->all_gather({mine}, all);
    if (transport.rank() == 0) fabric->wait(std::move(pending));
    if (transport.rank() == 0) fabric->wait(fabric->all_gather({mine}, all));
    throw InputError("device 1 fails");
  };

  EXPECT_THROW(on_devices(2, work), Error);  // and not a hang
}

TEST(ThrottledClock, ADeviceThatFailsWaitsForNoTransfer) {
  const auto begin = std::chrono::steady_clock::now();
  const auto work = [](Transport& transport) {
    const auto mine = filled(10'000, 1);
    std::vector<std::byte> all(20'000);
    const auto fabric = make_fabric(transport, throttled(Topology::unicast, 80));  // 1,000 s
    fabric->begin_iteration();
    [[maybe_unused]] const Pending pending = fabric->all_gather({mine}, all);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // it is under way
    throw InputError("both devices fail");
  };

  EXPECT_THROW(on_devices(2, work), InputError);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(ThrottledClock, ADeviceThatFailsWaitsForNoPeer) {
  std::atomic<bool> has_ended = false;
  const auto work = [&](Transport& transport) {
    const auto mine = filled(10, 1);
    std::vector<std::byte> all(20);
    {
      const auto fabric = make_fabric(transport, throttled(Topology::unicast, 1e9));
      fabric->begin_iteration();
      if (transport.rank() == 0) {
        [[maybe_unused]] const Pending pending =
            fabric->all_gather({mine}, all);  // to which device 1 never comes
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    }
    if (transport.rank() == 0) has_ended = true;
    while (!has_ended) std::this_thread::yield();
  };

  on_devices(2, work);  // and not a hang
  EXPECT_TRUE(has_ended);
}

}  // namespace
}  // namespace thinwire::fabric
