#pragma once
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "devices.hpp"
#include "schedule.hpp"
#include "thinwire/fabric/device_clock.hpp"
#include "thinwire/fabric/fabric.hpp"
#include "thinwire/fabric/link_model.hpp"

/// A little program with a terminal, played on a fabric and replayed with the formula classes: per
/// sequence the terminal scatters, the devices gather from all, pass on round a ring under other
/// work, and the terminal gathers.
namespace thinwire::fabric::test {

inline constexpr int kSequences = 2;

inline std::int64_t input_bytes(int device) {
  return 700 * (device % 3);
}
inline std::int64_t state_bytes(int device) {
  return 500 + 300 * device;
}
inline std::int64_t result_bytes(int device) {
  return 400 * ((device + 1) % 3);
}
inline std::int64_t work_macs(int node, int part) {
  return 20'000 + 9'000 * node * part;
}

inline void work(Fabric& fabric, std::int64_t macs) {
  fabric.compute({"work", 0}, [&](Operations& operations) { operations.matmul_macs += macs; });
}

inline void play_terminal(Fabric& fabric, bool& is_data_right) {
  const int devices = fabric.devices();
  std::vector<std::vector<std::byte>> inputs;
  for (int p = 0; p < devices; ++p) inputs.push_back(filled(input_bytes(p), p));
  const std::vector<Payload> payloads(inputs.begin(), inputs.end());
  std::vector<std::byte> results(static_cast<std::size_t>(800 * devices));
  work(fabric, work_macs(devices, 0));
  fabric.wait(fabric.scatter(payloads, {}));
  const Delivery delivery = fabric.wait(fabric.gather(devices, {}, results));
  for (int p = 0; p < devices; ++p)
    is_data_right = is_data_right && is_filled(delivery.from(p), result_bytes(p), p);
}

inline void play_device(Fabric& fabric, bool& is_data_right) {
  const int me = fabric.device(), devices = fabric.devices();
  const int next = devices == 1 ? -1 : (me + 1) % devices;
  const int previous = (me + devices - 1) % devices;
  const auto check = [&](std::span<const std::byte> bytes, std::int64_t size, int value) {
    is_data_right = is_data_right && is_filled(bytes, size, value);
  };
  std::vector<std::byte> input(static_cast<std::size_t>(input_bytes(me)));
  std::vector<std::byte> all(static_cast<std::size_t>(3000 * devices)), ring(3000);
  const auto state = filled(state_bytes(me), me), result = filled(result_bytes(me), me);

  check(fabric.wait(fabric.scatter({}, input)).from(devices), input_bytes(me), me);
  fabric.mark(Milestone::distributed);
  work(fabric, work_macs(me, 1));
  const Delivery states = fabric.wait(fabric.all_gather({state}, all));
  for (int p = 0; p < devices; ++p) check(states.from(p), state_bytes(p), p);
  Pending passed = fabric.send_receive({state}, next, ring);
  work(fabric, work_macs(me, 2));
  const Delivery theirs = fabric.wait(std::move(passed));
  if (devices > 1) check(theirs.from(previous), state_bytes(previous), previous);
  fabric.mark(Milestone::computed);
  fabric.wait(fabric.gather(devices, {result}, {}));
}

inline DeviceIteration play_with_terminal(Fabric& fabric, bool& is_data_right) {
  is_data_right = true;
  fabric.begin_iteration();
  for (int sequence = 0; sequence < kSequences; ++sequence)
    fabric.is_terminal() ? play_terminal(fabric, is_data_right)
                         : play_device(fabric, is_data_right);
  return fabric.end_iteration();
}

/// The program in one thread, with LinkModel and DeviceClock alone.
class TerminalReplay {
 public:
  TerminalReplay(const Link& link, int devices, const FabricOptions& options)
      : model_(link, devices, /*has_terminal=*/true),
        clocks_(static_cast<std::size_t>(devices) + 1),
        macs_(clocks_.size()),
        published_(clocks_.size()),
        arrival_(clocks_.size()),
        devices_(devices),
        options_(options) {
    for (int sequence = 0; sequence < kSequences; ++sequence) play();
  }
  const DeviceClock& clock(int node) const { return clocks_[static_cast<std::size_t>(node)]; }
  std::int64_t link_bits() const { return model_.link_bits(); }

 private:
  void play() {
    std::vector<Message> scattered, passed, collected;
    std::vector<std::int64_t> states;
    for (int p = 0; p < devices_; ++p) {
      scattered.push_back({devices_, p, input_bytes(p)});
      states.push_back(state_bytes(p));
      if (devices_ > 1) passed.push_back({p, (p + 1) % devices_, state_bytes(p)});
      collected.push_back({p, devices_, result_bytes(p)});
    }
    const auto all = clocks_.size(), devices = all - 1;
    work(devices_, 0);
    publish(all);
    model_.send(ready(all), scattered, arrivals(all));
    wait(all - 1);
    for (int p = 0; p < devices_; ++p) work(p, 1);
    publish(devices);
    model_.all_gather(ready(devices), states, arrivals(devices));
    wait(devices);
    publish(devices);
    model_.send(ready(devices), passed, arrivals(devices));
    for (int p = 0; p < devices_; ++p) work(p, 2);
    wait(devices);
    publish(all);
    model_.send(ready(all), collected, arrivals(all));
    wait(all);
  }
  void work(int node, int part) {
    const auto index = static_cast<std::size_t>(node);
    const bool is_terminal = node == devices_;
    macs_[index] += work_macs(node, part);
    clocks_[index].set_compute_s(static_cast<double>(2 * macs_[index]) *
                                 (is_terminal ? 1 : options_.slowness[index]) /
                                 options_.device_flops_per_s[is_terminal ? 0 : index]);
  }
  void publish(std::size_t nodes) {
    for (std::size_t n = 0; n < nodes; ++n) published_[n] = clocks_[n].now_s();
  }
  void wait(std::size_t nodes) {
    for (std::size_t n = 0; n < nodes; ++n) clocks_[n].wait_until(arrival_[n], published_[n]);
  }
  std::span<const double> ready(std::size_t nodes) const {
    return std::span(published_).first(nodes);
  }
  std::span<double> arrivals(std::size_t nodes) { return std::span(arrival_).first(nodes); }

  LinkModel model_;
  std::vector<DeviceClock> clocks_;
  std::vector<std::int64_t> macs_;
  std::vector<double> published_, arrival_;
  int devices_;
  const FabricOptions& options_;
};

/// Times and bits of a played iteration are those of the replay, to the last bit.
inline void expect_replayed(const DeviceIteration& iteration, int node, int devices,
                            const FabricOptions& options) {
  for (std::size_t link = 0; link < options.links.size(); ++link) {
    const TerminalReplay expected(options.links[link], devices, options);
    const Link unlimited{{Rate::unlimited()}, Seconds(0), options.links[link].topology};
    const TerminalReplay skew(unlimited, devices, options);
    const LinkTimes& times = iteration.links[link];
    EXPECT_EQ(times.compute_s, expected.clock(node).compute_s()) << "link " << link;
    EXPECT_EQ(times.wait_s, expected.clock(node).wait_s()) << "link " << link;
    EXPECT_EQ(times.hidden_s, expected.clock(node).hidden_s()) << "link " << link;
    EXPECT_EQ(times.skew_s, skew.clock(node).wait_s()) << "link " << link;
    EXPECT_EQ(iteration.link_bits[link], expected.link_bits()) << "link " << link;
  }
}

}  // namespace thinwire::fabric::test
