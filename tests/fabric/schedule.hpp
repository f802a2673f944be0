#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "devices.hpp"
#include "thinwire/fabric/device_clock.hpp"
#include "thinwire/fabric/fabric.hpp"
#include "thinwire/fabric/link_model.hpp"

namespace thinwire::fabric::test {

/// A little program that every device plays: per exchange some work, publishing, more work under
/// the transfer, waiting; a gather to the last device; a tail of work. Sizes and work depend on the
/// device, so that clocks differ and some messages are empty.
struct Schedule {
  int exchanges = 4;
  int iteration = 0;  ///< where a link's trace begins

  std::int64_t bytes(int device, int exchange) const { return 1000 * ((device + exchange) % 3); }
  std::int64_t work(int device, int exchange) const { return 100'000 + 37'000 * device * exchange; }
  std::int64_t window(int device, int exchange) const {
    return exchange % 2 == 0 ? 0 : 70'000 + 11'000 * device;
  }
};

inline FabricOptions modelled_options(int devices, std::vector<Link> links) {
  FabricOptions options;
  options.clock = Clock::modelled;
  options.links = std::move(links);
  for (int device = 0; device < devices; ++device) {
    options.device_flops_per_s.push_back(1e9 + 1e8 * device);
    options.slowness.push_back(1 + 0.25 * (device % 2));
  }
  return options;
}

/// Several settings at once; unequal rates only with as many devices.
inline std::vector<Link> several_links(int devices) {
  std::vector<Rate> unequal;
  for (int device = 0; device < devices; ++device)
    unequal.push_back(Rate::bits_per_second(1e7 * (1 + device)));
  const Rate slow = Rate::bits_per_second(3e7);
  const RateTrace trace("trace", {{0, 4e7}, {2e-4, 1e7}, {5e-4, 0}, {6e-4, 6e7}, {1.3e-3, 2e7}});
  return {{{slow}, Seconds(1e-4), Topology::unicast},
          {{slow}, Seconds(0), Topology::broadcast},
          {{slow}, Seconds(2e-4), Topology::shared},
          {unequal, Seconds(0), Topology::unicast},
          {unequal, Seconds(1e-5), Topology::shared},
          {{Rate::unlimited()}, Seconds(0)},
          link_of(trace)};
}

/// One device's part of the schedule; checks nothing but that the data is right.
inline DeviceIteration play(const Schedule& schedule, Fabric& fabric, bool& is_data_right) {
  const int me = fabric.device(), devices = fabric.devices();
  const auto work = [&](std::int64_t macs) {
    fabric.compute({"work", 0}, [&](Operations& operations) { operations.matmul_macs += macs; });
  };
  std::vector<std::byte> all(static_cast<std::size_t>(2000 * devices));
  is_data_right = true;
  fabric.begin_iteration(schedule.iteration);
  for (int exchange = 0; exchange < schedule.exchanges; ++exchange) {
    const auto mine = filled(schedule.bytes(me, exchange), me + exchange);
    const bool is_gather = exchange == schedule.exchanges - 1;
    work(schedule.work(me, exchange));
    Pending pending =
        is_gather ? fabric.gather(devices - 1, {mine}, all) : fabric.all_gather({mine}, all);
    work(schedule.window(me, exchange));
    const Delivery delivery = fabric.wait(std::move(pending));
    if (is_gather && me != devices - 1) continue;
    for (int peer = 0; peer < devices; ++peer)
      is_data_right = is_data_right && is_filled(delivery.from(peer),
                                                 schedule.bytes(peer, exchange), peer + exchange);
  }
  work(50'000);
  return fabric.end_iteration();
}

/// The same schedule replayed in one thread with the formula classes alone: [device].
inline std::vector<DeviceClock> replay(const Schedule& schedule, const Link& link, int devices,
                                       const FabricOptions& options) {
  const auto count = static_cast<std::size_t>(devices);
  std::vector<DeviceClock> clocks(count);
  std::vector<std::int64_t> macs(count), bytes(count);
  std::vector<double> published(count), arrival(count);
  LinkModel model(link, devices);
  model.reset(schedule.iteration);
  const auto work = [&](std::size_t p, std::int64_t more) {
    macs[p] += more;
    clocks[p].set_compute_s(static_cast<double>(2 * macs[p]) * options.slowness[p] /
                            options.device_flops_per_s[p]);
  };
  for (int exchange = 0; exchange < schedule.exchanges; ++exchange) {
    for (std::size_t p = 0; p < count; ++p) {
      work(p, schedule.work(static_cast<int>(p), exchange));
      published[p] = clocks[p].now_s();
      bytes[p] = schedule.bytes(static_cast<int>(p), exchange);
      work(p, schedule.window(static_cast<int>(p), exchange));
    }
    if (exchange == schedule.exchanges - 1)
      model.gather(devices - 1, published, bytes, arrival);
    else
      model.all_gather(published, bytes, arrival);
    for (std::size_t p = 0; p < count; ++p) clocks[p].wait_until(arrival[p], published[p]);
  }
  for (std::size_t p = 0; p < count; ++p) work(p, 50'000);
  return clocks;
}

}  // namespace thinwire::fabric::test
