// What a device can know of how an exchange has travelled.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "devices.hpp"
#include "thinwire/fabric/fabric.hpp"
#include "unit_clock.hpp"

namespace thinwire::fabric {
namespace {

using test::filled;
using test::on_devices;
using test::on_devices_and_terminal;
using test::unit_options;
using test::work_s;

TEST(LastTransfer, IsNothingBeforeTheFirst) {
  on_devices(2, [](Transport& transport) {
    const auto fabric = make_fabric(transport, unit_options(2));
    EXPECT_EQ(fabric->last_transfer().longest_bytes, 0);
  });
}

TEST(LastTransfer, IsFromTheSendersPublishingToTheArrival) {
  on_devices(2, [](Transport& transport) {
    const auto fabric = make_fabric(transport, unit_options(2));
    const int device = transport.rank();
    const auto mine = filled(device == 0 ? 3 : 5, 1);
    std::vector<std::byte> all(8);
    fabric->begin_iteration();
    work_s(*fabric, device == 0 ? 1 : 4);

    Pending pending = fabric->all_gather({mine}, all);
    work_s(*fabric, 2);
    fabric->wait(std::move(pending));

    const TransferReport& transfer = fabric->last_transfer();
    EXPECT_EQ(transfer.longest_bytes, device == 0 ? 5 : 3);
    EXPECT_EQ(transfer.duration_s, device == 0 ? 5 : 3);  // a byte a second
    EXPECT_EQ(transfer.window_s, 2);
    fabric->end_iteration();
    fabric->begin_iteration();
    EXPECT_EQ(fabric->last_transfer().window_s, 2);  // still
    fabric->end_iteration();
  });
}

TEST(LastTransfer, HoldsAllMessagesOfASharedMedium) {
  on_devices(3, [](Transport& transport) {
    const auto fabric = make_fabric(transport, unit_options(3, Topology::shared));
    const auto mine = filled(2, 1);
    std::vector<std::byte> all(6);
    fabric->begin_iteration();
    fabric->wait(fabric->all_gather({mine}, all));
    fabric->end_iteration();

    const double last_s = transport.rank() == 2 ? 8 : 12;  // who sends last hears the fourth
    EXPECT_EQ(fabric->last_transfer().longest_bytes, 2);
    EXPECT_LE(fabric->last_transfer().duration_s, 12);
    EXPECT_GE(fabric->last_transfer().duration_s, last_s - 2);
  });
}

TEST(LastTransfer, IsNoneOfATerminals) {
  on_devices_and_terminal(2, [](Transport& all, Transport* devices) {
    FabricOptions options = unit_options(2);
    const auto fabric = make_fabric_with_terminal(all, devices, options);
    const std::array<std::vector<std::byte>, 2> parts = {filled(3, 1), filled(3, 2)};
    const std::array<Payload, 2> payloads = {Payload{parts[0]}, Payload{parts[1]}};
    std::vector<std::byte> message(3), gathered(2);
    fabric->begin_iteration();
    if (fabric->is_terminal())
      fabric->wait(fabric->scatter(payloads, {}));
    else
      fabric->wait(fabric->scatter({}, message));
    EXPECT_EQ(fabric->last_transfer().longest_bytes, 0);
    fabric->end_iteration();
  });
}

// Lower bounds only: a loaded machine may always be later.
TEST(LastTransfer, TakesItsBitsOverTheRateOnTheThrottledClock) {
  for (const Topology topology : {Topology::broadcast, Topology::shared}) {
    std::array<double, 2> seen_s{};
    on_devices(2, [&](Transport& transport) {
      FabricOptions options;
      options.clock = Clock::throttled;
      options.links = {{{Rate::bits_per_second(1e6)}, Seconds(5e-3), topology}};
      const auto fabric = make_fabric(transport, options);
      const auto mine = filled(2'000, 1);  // 16 ms
      std::vector<std::byte> all(4'000);
      fabric->begin_iteration();
      Pending pending = fabric->all_gather({mine}, all);
      fabric->compute({"work", 0}, [](Operations&) {});
      fabric->wait(std::move(pending));
      fabric->end_iteration();
      EXPECT_EQ(fabric->last_transfer().longest_bytes, 2'000);
      seen_s.at(static_cast<std::size_t>(transport.rank())) = fabric->last_transfer().duration_s;
    });
    EXPECT_GE(std::ranges::max(seen_s), 5e-3);
  }
}

TEST(LastTransfer, OfANativeClockEndsWhenItHasArrivedNotWhenItIsWaitedFor) {
  on_devices(2, [](Transport& transport) {
    FabricOptions options;
    options.clock = Clock::native;
    const auto fabric = make_fabric(transport, options);
    const auto mine = filled(100, 1);
    std::vector<std::byte> all(200);
    fabric->begin_iteration();
    Pending pending = fabric->all_gather({mine}, all);
    fabric->compute({"work", 0}, [](Operations&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    });
    fabric->wait(std::move(pending));
    fabric->end_iteration();
    EXPECT_EQ(fabric->last_transfer().longest_bytes, 100);
    EXPECT_GE(fabric->last_transfer().duration_s, 0);
    EXPECT_GE(fabric->last_transfer().window_s, 0.05);
  });
}

}  // namespace
}  // namespace thinwire::fabric
