#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "devices.hpp"
#include "terminal_schedule.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/fabric/fabric.hpp"
#include "unit_clock.hpp"

namespace thinwire::fabric {
namespace {

using test::filled;
using test::is_filled;
using test::milestone_s;
using test::on_devices_and_terminal;
using test::unit_options;
using test::work_s;

/// The terminal works 3 s and sends device p 2 - p bytes; the devices work 1 s each, exchange 2
/// bytes and send 3 and 1 bytes back.
DeviceIteration play_two(Fabric& fabric) {
  const auto two = filled(2, 7), one = filled(1, 8), result = filled(3, fabric.device());
  std::vector<std::byte> input(
      fabric.is_terminal() ? 0 : 2 - static_cast<std::size_t>(fabric.device()));
  std::vector<std::byte> all(4), results(4);
  fabric.begin_iteration();
  if (fabric.is_terminal()) {
    work_s(fabric, 3);
    const std::vector<Payload> payloads = {{two, 8, 1}, {one}};
    fabric.wait(fabric.scatter(payloads, {}));
    const Delivery delivery = fabric.wait(fabric.gather(2, {}, results));
    EXPECT_TRUE(is_filled(delivery.from(0), 3, 0));
    EXPECT_TRUE(is_filled(delivery.from(1), 1, 1));
    return fabric.end_iteration();
  }
  const Delivery delivery = fabric.wait(fabric.scatter({}, input));
  EXPECT_TRUE(is_filled(delivery.from(2), 2 - fabric.device(), 7 + fabric.device()));
  fabric.mark(Milestone::distributed);
  work_s(fabric, 1);
  fabric.wait(fabric.all_gather({two}, all));
  fabric.mark(Milestone::computed);
  const auto mine = std::span(result).first(fabric.device() == 0 ? 3 : 1);
  fabric.wait(fabric.gather(2, {mine}, {}));
  return fabric.end_iteration();
}

std::vector<DeviceIteration> play_two(Topology topology) {
  std::vector<DeviceIteration> iterations(3);
  on_devices_and_terminal(2, [&](Transport& all, Transport* devices) {
    const auto fabric = make_fabric_with_terminal(all, devices, unit_options(2, topology));
    play_two(*fabric);
    iterations[static_cast<std::size_t>(all.rank())] = play_two(*fabric);  // starts at 0 again
  });
  return iterations;
}

TEST(Terminal, DistributesAndCollects) {
  struct Case {
    Topology topology;
    double computed_0, computed_1, terminal;
  };
  // Scattering 3..5, 5..6 everywhere; then the devices are ready at 6 and 7.
  // unicast: 0>1 6..8, 1>0 7..9; device 1 is ready at 8, its transmitter at 9: 9..10; 0 10..13
  // broadcast: the same, but device 0 need not wait for the terminal's port: 9..12
  // shared: 0>1 6..8, 1>0 8..10; the medium is free at 10: from 1 10..11, from 0 11..14
  for (const auto& [topology, computed_0, computed_1, terminal] :
       {Case{Topology::unicast, 9, 8, 13}, Case{Topology::broadcast, 9, 8, 12},
        Case{Topology::shared, 10, 8, 14}}) {
    SCOPED_TRACE(to_string(topology));
    const auto iterations = play_two(topology);

    EXPECT_EQ(milestone_s(iterations[0], Milestone::distributed), 5);
    EXPECT_EQ(milestone_s(iterations[1], Milestone::distributed), 6);
    EXPECT_EQ(milestone_s(iterations[0], Milestone::computed), computed_0);
    EXPECT_EQ(milestone_s(iterations[1], Milestone::computed), computed_1);
    const LinkTimes& end = iterations[2].links.front();
    EXPECT_EQ(end.compute_s, 3);
    EXPECT_EQ(end.wait_s, terminal - 3);
    for (const DeviceIteration& iteration : iterations)
      EXPECT_EQ(iteration.link_bits.front(), 8 * (3 + 4 + 4));
  }
}

TEST(Terminal, CountsWhatItScatters) {
  const auto iterations = play_two(Topology::unicast);

  EXPECT_EQ(iterations[2].traffic.wire_bytes, 3);
  EXPECT_EQ(iterations[2].traffic.header_bits, 8);
  EXPECT_EQ(iterations[2].traffic.padding_bits, 1);
  EXPECT_EQ(iterations[2].traffic.exchanges, 1);
  EXPECT_EQ(iterations[0].traffic.wire_bytes, 2 + 3);
  EXPECT_EQ(iterations[1].traffic.exchanges, 2);
}

TEST(Terminal, EqualsTheFormulaUnderSeveralLinksAtOnce) {
  for (const int devices : {1, 2, 3, 6}) {
    SCOPED_TRACE(testing::Message() << devices << " devices");
    const FabricOptions options = test::modelled_options(devices, test::several_links(devices));
    on_devices_and_terminal(devices, [&](Transport& all, Transport* part) {
      const auto fabric = make_fabric_with_terminal(all, part, options);
      EXPECT_EQ(fabric->devices(), devices);
      EXPECT_EQ(fabric->is_terminal(), all.rank() == devices);
      bool is_data_right = false;
      const DeviceIteration iteration = test::play_with_terminal(*fabric, is_data_right);

      EXPECT_TRUE(is_data_right);
      test::expect_replayed(iteration, all.rank(), devices, options);
    });
  }
}

TEST(Terminal, TakesTurnsUnderTheEmulatedClock) {
  std::atomic<int> computing = 0, most = 0;
  on_devices_and_terminal(3, [&](Transport& all, Transport* devices) {
    const auto fabric = make_fabric_with_terminal(all, devices, {});
    fabric->begin_iteration();
    for (int i = 0; i < 20; ++i)
      fabric->compute({"work", 0}, [&](Operations&) {
        most = std::max(most.load(), ++computing);
        std::this_thread::yield();
        --computing;
      });
    fabric->end_iteration();
    bool is_data_right = false;
    test::play_with_terminal(*fabric, is_data_right);
    EXPECT_TRUE(is_data_right);
  });
  EXPECT_EQ(most, 1);
}

TEST(Terminal, IsNamedInTimelines) {
  std::atomic<int> to_terminal = 0, from_terminal = 0;
  on_devices_and_terminal(2, [&](Transport& all, Transport* devices) {
    FabricOptions options = unit_options(2);
    options.record_timeline = true;
    const auto fabric = make_fabric_with_terminal(all, devices, options);
    play_two(*fabric);
    for (const TimelineEvent& event : fabric->timeline()) {
      if (event.name == "to terminal") ++to_terminal;
      if (event.device == 2 && event.name == "to device 1") ++from_terminal;
    }
  });
  EXPECT_EQ(to_terminal, 2);
  EXPECT_EQ(from_terminal, 1);
}

TEST(Terminal, RefusesAScatterThatADeviceDoesNotExpect) {
  for (const std::size_t expected : {std::size_t{0}, std::size_t{3}})
    EXPECT_THROW(on_devices_and_terminal(1,
                                         [&](Transport& all, Transport* devices) {
                                           const auto fabric = make_fabric_with_terminal(
                                               all, devices, unit_options(1));
                                           const auto two = filled(2, 1);
                                           std::vector<Payload> payloads;
                                           std::vector<std::byte> input(expected);
                                           if (fabric->is_terminal()) payloads = {{two}};
                                           fabric->begin_iteration();
                                           fabric->wait(fabric->scatter(payloads, input));
                                           if (!fabric->is_terminal())
                                             fabric->wait(fabric->gather(1, {}, {}));
                                         }),
                 Error);
}

TEST(Terminal, TakesNoPartInTheDevicesCollectives) {
  on_devices_and_terminal(1, [](Transport& all, Transport* devices) {
    const auto fabric = make_fabric_with_terminal(all, devices, unit_options(1));
    if (!fabric->is_terminal()) return;
    EXPECT_THROW(static_cast<void>(fabric->all_gather({}, {})), Error);
    EXPECT_THROW(static_cast<void>(fabric->gather(0, {}, {})), Error);
    EXPECT_THROW(static_cast<void>(fabric->send_receive({}, 0, {})), Error);
  });
}

TEST(Terminal, IsNeededToScatter) {
  const auto transport = make_solo_transport();
  const auto fabric = make_fabric(*transport, unit_options(1));

  EXPECT_FALSE(fabric->has_terminal());
  EXPECT_THROW(static_cast<void>(fabric->scatter({}, {})), Error);
}

TEST(Terminal, OptionsHaveOneValueADevice) {
  on_devices_and_terminal(2, [](Transport& all, Transport* devices) {
    FabricOptions options = unit_options(2);
    options.slowness = {1, 2, 3};
    EXPECT_THROW(make_fabric_with_terminal(all, devices, options), InputError);
  });
}

TEST(Terminal, RefusesTransportsThatDoNotFit) {
  on_devices_and_terminal(2, [](Transport& all, Transport* devices) {
    Transport* const wrong = devices == nullptr ? &all : nullptr;
    EXPECT_THROW(make_fabric_with_terminal(all, wrong, unit_options(2)), Error);
    if (devices == nullptr) return;
    EXPECT_THROW(make_fabric_with_terminal(all, &all, unit_options(2)), Error);
  });
}

}  // namespace
}  // namespace thinwire::fabric
