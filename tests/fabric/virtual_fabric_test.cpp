#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

#include "devices.hpp"
#include "schedule.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/fabric/device_clock.hpp"
#include "thinwire/fabric/fabric.hpp"

namespace thinwire::fabric {
namespace {

using test::filled;
using test::modelled_options;
using test::on_devices;
using test::play;
using test::replay;
using test::Schedule;
using test::several_links;

TEST(ModelledClock, EqualsTheFormulaUnderSeveralLinksAtOnce) {
  for (const int devices : {1, 2, 3, 6}) {
    SCOPED_TRACE(testing::Message() << devices << " devices");
    const FabricOptions options = modelled_options(devices, several_links(devices));
    std::vector<DeviceIteration> iterations(static_cast<std::size_t>(devices));

    on_devices(devices, [&](Transport& transport) {
      bool is_data_right = false;
      const auto fabric = make_fabric(transport, options);
      iterations[static_cast<std::size_t>(transport.rank())] = play({}, *fabric, is_data_right);
      EXPECT_TRUE(is_data_right);
    });

    for (std::size_t link = 0; link < options.links.size(); ++link) {
      const auto expected = replay({}, options.links[link], devices, options);
      Link unlimited{{Rate::unlimited()}, Seconds(0), options.links[link].topology};
      const auto skew = replay({}, unlimited, devices, options);
      for (std::size_t p = 0; p < expected.size(); ++p) {
        const LinkTimes& times = iterations[p].links[link];
        EXPECT_EQ(times.compute_s, expected[p].compute_s());  // to the last bit
        EXPECT_EQ(times.wait_s, expected[p].wait_s());
        EXPECT_EQ(times.hidden_s, expected[p].hidden_s());
        EXPECT_EQ(times.skew_s, skew[p].wait_s());
        EXPECT_EQ(times.compute_s + times.wait_s, expected[p].now_s());
      }
    }
  }
}

TEST(ModelledClock, EachIterationBeginsWhereItIsInTheTrace) {
  const FabricOptions options = modelled_options(3, several_links(3));
  std::vector<double> waits_s;
  for (const int iteration : {0, 1, 2, 7}) {
    const Schedule schedule{.iteration = iteration};
    std::vector<DeviceIteration> iterations(3);

    on_devices(3, [&](Transport& transport) {
      bool is_data_right = false;
      const auto fabric = make_fabric(transport, options);
      iterations[static_cast<std::size_t>(transport.rank())] =
          play(schedule, *fabric, is_data_right);
    });

    const auto expected = replay(schedule, options.links.back(), 3, options);
    for (std::size_t p = 0; p < 3; ++p)
      EXPECT_EQ(iterations[p].links.back().wait_s, expected[p].wait_s()) << iteration;
    waits_s.push_back(expected[0].wait_s());
  }
  EXPECT_NE(waits_s[0], waits_s[1]);
  EXPECT_NE(waits_s[1], waits_s[2]);
}

TEST(ModelledClock, OverlapHidesTheTransfer) {
  on_devices(2, [](Transport& transport) {
    FabricOptions options;
    options.clock = Clock::modelled;
    options.device_flops_per_s = {2, 2};  // one multiply-accumulate a second
    options.links = {{{Rate::bits_per_second(8)}, Seconds(0), Topology::unicast}};
    const auto fabric = make_fabric(transport, options);
    const auto mine = filled(3, 1);
    std::vector<std::byte> all(6);
    const auto seconds_of_work = [&](int s) {
      fabric->compute({"work", 0}, [s](Operations& operations) { operations.matmul_macs += s; });
    };
    fabric->begin_iteration();

    Pending covered = fabric->all_gather({mine}, all);  // 0 to 3
    seconds_of_work(5);
    fabric->wait(std::move(covered));
    Pending in_part = fabric->all_gather({mine}, all);  // 5 to 8
    seconds_of_work(1);
    fabric->wait(std::move(in_part));

    const LinkTimes times = fabric->end_iteration().links.front();
    EXPECT_EQ(times.hidden_s, 4);  // 3 + 1
    EXPECT_EQ(times.wait_s, 2);
    EXPECT_EQ(times.compute_s, 6);
    EXPECT_EQ(times.skew_s, 0);
  });
}

TEST(ModelledClock, DoesNotDependOnHowWorkIsCut) {
  const auto transport = make_solo_transport();
  const auto compute_s = [&](int calls, std::int64_t macs) {
    const auto fabric = make_fabric(*transport, modelled_options(1, {Link{}}));
    fabric->begin_iteration();
    for (int call = 0; call < calls; ++call)
      fabric->compute({"work", 0}, [&](Operations& operations) { operations.matmul_macs += macs; });
    return fabric->end_iteration().links.front().compute_s;
  };

  EXPECT_EQ(compute_s(7, 1'000'003), compute_s(1, 7 * 1'000'003));
}

TEST(ModelledClock, RecordsATimelineWithoutGaps) {
  std::mutex mutex;
  std::vector<TimelineEvent> events;
  on_devices(3, [&](Transport& transport) {
    FabricOptions options = modelled_options(3, several_links(3));
    options.record_timeline = true;
    const auto fabric = make_fabric(transport, options);
    bool is_data_right = false;
    play({}, *fabric, is_data_right);
    const DeviceIteration iteration = play({}, *fabric, is_data_right);  // the last one is kept

    for (std::size_t link = 0; link < options.links.size(); ++link) {
      double end_s = 0;
      for (const TimelineEvent& event : fabric->timeline()) {
        if (event.link != static_cast<int>(link)) continue;
        EXPECT_EQ(event.device, transport.rank());
        if (event.kind == TimelineEvent::Kind::transfer) continue;
        EXPECT_NEAR(event.start_s, end_s, 1e-12);
        end_s = event.start_s + event.duration_s;
      }
      const LinkTimes& times = iteration.links[link];
      EXPECT_NEAR(end_s, times.compute_s + times.wait_s, 1e-12);
    }
    const std::lock_guard lock(mutex);
    events.insert(events.end(), fabric->timeline().begin(), fabric->timeline().end());
  });

  EXPECT_TRUE(std::ranges::any_of(events, [](const TimelineEvent& event) {
    return event.kind == TimelineEvent::Kind::transfer && event.name == "to device 2";
  }));
  EXPECT_TRUE(std::ranges::all_of(events, [](const TimelineEvent& event) {
    return event.link >= 0 && event.link < 7;  // the unlimited twins are not shown
  }));
}

/// Work before the first of several exchanges alone, so that the compute time of the result is what
/// the clock showed at all of them.
DeviceIteration measured_iteration(Transport& transport, std::vector<Link> links) {
  FabricOptions options;
  options.links = std::move(links);
  const auto fabric = make_fabric(transport, options);
  const auto mine = filled(2000 + 500 * transport.rank(), transport.rank());
  std::vector<std::byte> all(4000 * static_cast<std::size_t>(transport.size()));
  fabric->begin_iteration();
  fabric->compute({"work", 0}, [&](Operations&) {
    std::this_thread::sleep_for(std::chrono::microseconds(300 * (1 + transport.rank())));
  });
  for (int exchange = 0; exchange < 3; ++exchange) {
    Pending pending = fabric->all_gather({mine}, all);
    fabric->wait(std::move(pending));
  }
  return fabric->end_iteration();
}

TEST(EmulatedClock, ReplaysTheMeasuredComputeUnderEveryLink) {
  for (const int devices : {2, 3, 5}) {
    SCOPED_TRACE(testing::Message() << devices << " devices");
    const auto count = static_cast<std::size_t>(devices);
    const std::vector<Link> links = several_links(devices);
    std::vector<DeviceIteration> measured(count);

    on_devices(devices, [&](Transport& transport) {
      measured[static_cast<std::size_t>(transport.rank())] = measured_iteration(transport, links);
    });

    for (std::size_t index = 0; index < links.size(); ++index) {
      LinkModel link(links[index], devices);
      std::vector<DeviceClock> clocks(count);
      std::vector<double> ready(count), arrival(count);
      std::vector<std::int64_t> bytes(count);
      for (std::size_t p = 0; p < count; ++p) {
        clocks[p].set_compute_s(measured[p].links.front().compute_s);
        bytes[p] = 2000 + 500 * static_cast<std::int64_t>(p);
      }
      for (int exchange = 0; exchange < 3; ++exchange) {
        for (std::size_t p = 0; p < count; ++p) ready[p] = clocks[p].now_s();
        link.all_gather(ready, bytes, arrival);
        for (std::size_t p = 0; p < count; ++p) clocks[p].wait_until(arrival[p], ready[p]);
      }
      for (std::size_t p = 0; p < count; ++p) {
        const LinkTimes& times = measured[p].links[index];
        EXPECT_EQ(times.compute_s, clocks[p].compute_s());  // to the last bit
        EXPECT_EQ(times.wait_s, clocks[p].wait_s());
        EXPECT_EQ(times.hidden_s, clocks[p].hidden_s());
        EXPECT_EQ(measured[p].link_bits[index], link.link_bits());
      }
    }
  }
}

TEST(EmulatedClock, ChargesMeasuredTimeTimesSlowness) {
  on_devices(2, [](Transport& transport) {
    FabricOptions options;
    options.slowness = {1, 4};
    const auto fabric = make_fabric(transport, options);
    double measured_s = 0;
    fabric->begin_iteration();
    for (int i = 0; i < 3; ++i)
      fabric->compute({"work", 0}, [&](Operations&) {
        const auto begin = std::chrono::steady_clock::now();
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        measured_s +=
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      });

    const DeviceIteration iteration = fabric->end_iteration();

    const double slowness = transport.rank() == 0 ? 1 : 4;
    EXPECT_GE(iteration.links.front().compute_s, measured_s * slowness);
    EXPECT_LT(iteration.links.front().compute_s, (measured_s + iteration.wall_s) * slowness);
    EXPECT_EQ(iteration.links.front().wait_s, 0);
  });
}

TEST(EmulatedClock, DevicesComputeOneAtATime) {
  std::atomic<int> computing = 0, most = 0;
  on_devices(4, [&](Transport& transport) {
    const auto fabric = make_fabric(transport, {});
    fabric->begin_iteration();
    for (int i = 0; i < 20; ++i)
      fabric->compute({"work", 0}, [&](Operations&) {
        most = std::max(most.load(), ++computing);
        std::this_thread::yield();
        --computing;
      });
    fabric->end_iteration();
  });
  EXPECT_EQ(most, 1);
}

TEST(EmulatedClock, AnExceptionGivesTheTurnBack) {
  on_devices(2, [](Transport& transport) {
    const auto fabric = make_fabric(transport, {});
    fabric->begin_iteration();

    EXPECT_THROW(fabric->compute({"work", 0}, [](Operations&) { throw Error("on purpose"); }),
                 Error);
    bool has_run = false;
    fabric->compute({"work", 0}, [&](Operations&) { has_run = true; });  // would hang
    EXPECT_TRUE(has_run);
    fabric->end_iteration();
  });
}

TEST(EmulatedClock, RefusesComputeInsideCompute) {
  const auto transport = make_solo_transport();
  const auto fabric = make_fabric(*transport, {});
  fabric->begin_iteration();

  const auto nested = [&](Operations&) { fabric->compute({"inner", 0}, [](Operations&) {}); };
  EXPECT_THROW(fabric->compute({"outer", 0}, nested), Error);
}

TEST(EmulatedClock, ColdWeightsAreNotCharged) {
  const auto transport = make_solo_transport();
  FabricOptions options;
  options.cold_weights = true;
  const auto fabric = make_fabric(*transport, options);
  fabric->begin_iteration();

  fabric->compute({"work", 0}, [](Operations&) {});

  const DeviceIteration iteration = fabric->end_iteration();
  EXPECT_LT(iteration.links.front().compute_s, iteration.wall_s / 2);  // evicting took the rest
}

}  // namespace
}  // namespace thinwire::fabric
