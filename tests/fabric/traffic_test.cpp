#include "thinwire/fabric/traffic.hpp"

#include <gtest/gtest.h>

#include "devices.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/fabric/fabric.hpp"

namespace thinwire::fabric {
namespace {

using test::filled;
using test::on_devices;

TEST(Traffic, CountsOwnBitsOncePerCollective) {
  on_devices(2, [](Transport& transport) {
    const auto fabric = make_fabric(transport, {});
    const auto mine = filled(10, 1);
    std::vector<std::byte> all(20);
    fabric->begin_iteration();
    for (int i = 0; i < 3; ++i)
      fabric->wait(fabric->all_gather({mine, /*header_bits=*/8, /*padding_bits=*/5}, all));

    const Traffic traffic = fabric->end_iteration().traffic;

    EXPECT_EQ(traffic.payload_bits, 3 * (80 - 13));
    EXPECT_EQ(traffic.header_bits, 24);
    EXPECT_EQ(traffic.padding_bits, 15);
    EXPECT_EQ(traffic.wire_bytes, 30);
    EXPECT_EQ(traffic.exchanges, 3);
    EXPECT_TRUE(traffic.mpi_calls.empty());  // no MPI between threads
  });
}

TEST(Traffic, EmptyPayloadsAndAGathersRootSendNothing) {
  on_devices(2, [](Transport& transport) {
    const auto fabric = make_fabric(transport, {});
    const auto mine = filled(4, 1);
    std::vector<std::byte> all(8);
    fabric->begin_iteration();
    fabric->wait(fabric->all_gather({}, all));
    fabric->wait(fabric->gather(0, {mine}, all));

    const DeviceIteration iteration = fabric->end_iteration();

    EXPECT_EQ(iteration.traffic.wire_bytes, transport.rank() == 0 ? 0 : 4);
    EXPECT_EQ(iteration.traffic.exchanges, transport.rank() == 0 ? 0 : 1);
    EXPECT_EQ(iteration.link_bits.front(), 32);
  });
}

TEST(Traffic, StartsAtZeroInEveryIteration) {
  on_devices(2, [](Transport& transport) {
    const auto fabric = make_fabric(transport, {});
    const auto mine = filled(4, 1);
    std::vector<std::byte> all(8);
    for (int i = 0; i < 2; ++i) {
      fabric->begin_iteration();
      fabric->compute({"work", 0}, [](Operations& operations) { operations.matmul_macs += 5; });
      fabric->wait(fabric->all_gather({mine}, all));
      const DeviceIteration iteration = fabric->end_iteration();

      EXPECT_EQ(iteration.traffic.wire_bytes, 4);
      EXPECT_EQ(iteration.operations.matmul_macs, 5);
      EXPECT_EQ(iteration.link_bits.front(), 2 * 32);
    }
  });
}

TEST(Fabric, RefusesMoreHeaderThanBytes) {
  const auto transport = make_solo_transport();
  const auto fabric = make_fabric(*transport, {});
  const auto mine = filled(1, 0);
  std::vector<std::byte> all(1);

  EXPECT_THROW(static_cast<void>(fabric->all_gather({mine, 8, 1}, all)), Error);
}

TEST(Fabric, RefusesASmallReceiveBuffer) {
  const auto transport = make_solo_transport();
  const auto fabric = make_fabric(*transport, {});
  const auto mine = filled(3, 0);
  std::vector<std::byte> all(2);

  EXPECT_THROW(fabric->wait(fabric->all_gather({mine}, all)), Error);
}

TEST(Fabric, RefusesAPayloadOfAnotherSizeThanAllExpect) {
  on_devices(1, [](Transport& transport) {
    const auto fabric = make_fabric(transport, {});
    std::vector<std::byte> all(3);
    const std::vector<std::int64_t> expected{2}, too_many{3, 3};
    fabric->begin_iteration();

    EXPECT_THROW((void)fabric->all_gather({filled(3, 1)}, all, expected), Error);
    EXPECT_THROW((void)fabric->all_gather({filled(3, 1)}, all, too_many), Error);
  });
}

TEST(Fabric, APeersPayloadOfAnotherSizeThanExpectedIsNotTaken) {
  for (const Clock clock : {Clock::emulated, Clock::native}) {
    SCOPED_TRACE(to_string(clock));
    on_devices(2, [clock](Transport& transport) {
      FabricOptions options;
      options.clock = clock;
      const auto fabric = make_fabric(transport, options);
      const auto mine = filled(3, 1);
      std::vector<std::byte> all(8);
      std::vector<std::int64_t> expected{3, 3};
      expected[static_cast<std::size_t>(1 - transport.rank())] = 4;  // as this device sees it
      fabric->begin_iteration();
      Pending pending = fabric->all_gather({mine}, all, expected);

      EXPECT_THROW(fabric->wait(std::move(pending)), Error);
    });
  }
}

TEST(Fabric, CollectivesAreWaitedForOnceAndInOrder) {
  const auto transport = make_solo_transport();
  const auto fabric = make_fabric(*transport, {});
  const auto mine = filled(1, 0);
  std::vector<std::byte> first(1), second(1);
  fabric->begin_iteration();
  Pending one = fabric->all_gather({mine}, first);
  Pending two = fabric->all_gather({mine}, second);

  EXPECT_THROW(fabric->wait(std::move(two)), Error);
  EXPECT_THROW(fabric->end_iteration(), Error);
  EXPECT_NO_THROW(fabric->wait(std::move(one)));
  EXPECT_THROW(fabric->wait(std::move(one)), Error);  // NOLINT(bugprone-use-after-move): the point
}

TEST(Fabric, ADeliveryLastsAsLongAsItsBuffer) {
  on_devices(2, [](Transport& transport) {
    const auto fabric = make_fabric(transport, {});
    const auto large = filled(6, 1), small = filled(2, 2);
    std::vector<std::byte> first(12), second(4);
    fabric->begin_iteration();

    const Delivery one = fabric->wait(fabric->all_gather({large}, first));
    const Delivery two = fabric->wait(fabric->all_gather({small}, second));

    EXPECT_TRUE(test::is_filled(one.from(1), 6, 1));
    EXPECT_TRUE(test::is_filled(two.from(1), 2, 2));
  });
}

}  // namespace
}  // namespace thinwire::fabric
