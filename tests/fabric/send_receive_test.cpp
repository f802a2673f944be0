#include <gtest/gtest.h>

#include <algorithm>

#include "devices.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/fabric/fabric.hpp"
#include "unit_clock.hpp"

namespace thinwire::fabric {
namespace {

using test::filled;
using test::is_filled;
using test::on_devices;
using test::unit_options;
using test::work_s;

TEST(SendReceive, GoesRoundTheRing) {
  on_devices(4, [](Transport& transport) {
    const auto fabric = make_fabric(transport, unit_options(4));
    const int me = transport.rank(), next = (me + 1) % 4, previous = (me + 3) % 4;
    const auto mine = filled(me + 1, me);
    std::vector<std::byte> theirs(8);
    fabric->begin_iteration();
    work_s(*fabric, me + 1);

    const Delivery delivery = fabric->wait(fabric->send_receive({mine, 4, 3}, next, theirs));

    EXPECT_TRUE(is_filled(delivery.from(previous), previous + 1, previous));
    EXPECT_TRUE(delivery.from(next).empty());
    const DeviceIteration iteration = fabric->end_iteration();
    // The one before is ready at previous + 1 and sends as many bytes.
    EXPECT_EQ(iteration.links.front().wait_s, std::max(0, 2 * (previous + 1) - (me + 1)));
    EXPECT_EQ(iteration.traffic.wire_bytes, me + 1);
    EXPECT_EQ(iteration.traffic.header_bits, 4);
    EXPECT_EQ(iteration.traffic.padding_bits, 3);
    EXPECT_EQ(iteration.traffic.payload_bits, 8 * (me + 1) - 7);
    EXPECT_EQ(iteration.traffic.exchanges, 1);
    EXPECT_EQ(iteration.link_bits.front(), 8 * (1 + 2 + 3 + 4));
  });
}

TEST(SendReceive, GoesDownALineWhereTheFirstWaitsForNothing) {
  on_devices(3, [](Transport& transport) {
    const auto fabric = make_fabric(transport, unit_options(3));
    const int me = transport.rank();
    const auto mine = filled(4, me);
    std::vector<std::byte> theirs(me == 0 ? 0 : 4);
    fabric->begin_iteration();

    // The last one's bytes go nowhere.
    const Delivery delivery =
        fabric->wait(fabric->send_receive({mine}, me == 2 ? -1 : me + 1, theirs));

    EXPECT_TRUE(me == 0 || is_filled(delivery.from(me - 1), 4, me - 1));
    const DeviceIteration iteration = fabric->end_iteration();
    EXPECT_EQ(iteration.links.front().wait_s, me == 0 ? 0 : 4);
    EXPECT_EQ(iteration.traffic.wire_bytes, me == 2 ? 0 : 4);
    EXPECT_EQ(iteration.link_bits.front(), 2 * 32);
  });
}

TEST(SendReceive, OneDeviceSendsToNobody) {
  const auto transport = make_solo_transport();
  const auto fabric = make_fabric(*transport, unit_options(1));
  fabric->begin_iteration();
  fabric->wait(fabric->send_receive({}, -1, {}));

  const DeviceIteration iteration = fabric->end_iteration();

  EXPECT_EQ(iteration.traffic.exchanges, 0);
  EXPECT_EQ(iteration.link_bits.front(), 0);
}

TEST(SendReceive, ComputeHidesTheTransfer) {
  on_devices(2, [](Transport& transport) {
    const auto fabric = make_fabric(transport, unit_options(2));
    const auto mine = filled(5, 1);
    std::vector<std::byte> theirs(5);
    fabric->begin_iteration();
    Pending pending = fabric->send_receive({mine}, 1 - transport.rank(), theirs);
    work_s(*fabric, 3);
    fabric->wait(std::move(pending));

    const DeviceIteration iteration = fabric->end_iteration();

    EXPECT_EQ(iteration.links.front().hidden_s, 3);
    EXPECT_EQ(iteration.links.front().wait_s, 2);
  });
}

TEST(SendReceive, RefusesTwoSendersToOneDevice) {
  const auto work = [](Transport& transport) {
    const auto fabric = make_fabric(transport, unit_options(3));
    const auto mine = filled(1, 1);
    std::vector<std::byte> theirs(2);
    fabric->begin_iteration();
    EXPECT_THROW(fabric->wait(fabric->send_receive({mine}, transport.rank() == 1 ? 0 : 1, theirs)),
                 Error);
  };
  EXPECT_NO_THROW(on_devices(3, work));  // all are told
}

TEST(SendReceive, RefusesItselfAndStrangers) {
  const auto transport = make_solo_transport();
  const auto fabric = make_fabric(*transport, unit_options(1));

  EXPECT_THROW(static_cast<void>(fabric->send_receive({}, 0, {})), Error);
  EXPECT_THROW(static_cast<void>(fabric->send_receive({}, 1, {})), Error);
  EXPECT_THROW(static_cast<void>(fabric->send_receive({}, -2, {})), Error);
}

TEST(Windows, AreTheComputeBetweenStartingAndWaiting) {
  on_devices(2, [](Transport& transport) {
    const auto fabric = make_fabric(transport, unit_options(2));
    std::vector<std::byte> first(2), second(2), third(2);
    const auto mine = filled(1, 1);
    for (int iteration = 0; iteration < 2; ++iteration) {
      fabric->begin_iteration();
      work_s(*fabric, 9);
      Pending one = fabric->all_gather({mine}, first);
      work_s(*fabric, 2);
      Pending two = fabric->all_gather({mine}, second);
      work_s(*fabric, 3);
      fabric->wait(std::move(one));
      fabric->wait(std::move(two));
      fabric->wait(fabric->all_gather({mine}, third));

      EXPECT_EQ(fabric->end_iteration().windows_s, (std::vector<double>{5, 3, 0}));
    }
  });
}

TEST(Milestones, AreTheClocksOfEveryLink) {
  on_devices(2, [](Transport& transport) {
    FabricOptions options = unit_options(2);
    options.links.push_back({{Rate::unlimited()}, Seconds(0), Topology::unicast});
    const auto fabric = make_fabric(transport, options);
    const auto mine = filled(3, 1);
    std::vector<std::byte> all(6);
    for (int iteration = 0; iteration < 2; ++iteration) {
      fabric->begin_iteration();
      work_s(*fabric, 1);
      fabric->wait(fabric->all_gather({mine}, all));
      if (iteration == 0) fabric->mark(Milestone::first_output);
      work_s(*fabric, 1);

      const DeviceIteration result = fabric->end_iteration();

      const auto index = static_cast<std::size_t>(Milestone::first_output);
      if (iteration == 0) {
        EXPECT_EQ(result.links[0].milestone_s[index], 4);
        EXPECT_EQ(result.links[1].milestone_s[index], 1);
      } else {
        EXPECT_TRUE(std::isnan(result.links[0].milestone_s[index]));  // not the last iteration's
      }
      EXPECT_TRUE(std::isnan(test::milestone_s(result, Milestone::computed)));
    }
  });
}

}  // namespace
}  // namespace thinwire::fabric
