#include <algorithm>
#include <array>
#include <utility>

#include "fabric/native_fabric.hpp"
#include "fabric/throttled_fabric.hpp"
#include "fabric/virtual_fabric.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/base/named.hpp"
#include "thinwire/fabric/fabric.hpp"

namespace thinwire::fabric {
namespace {

struct ClockEntry {
  Clock clock;
  std::string_view name, summary;
};
constexpr std::array kClocks = {
    ClockEntry{Clock::emulated, "emulated",
               "virtual time: compute is measured, one device at a time; the link is computed"},
    ClockEntry{Clock::modelled, "modelled",
               "virtual time: compute = operations / device rate; deterministic"},
    ClockEntry{Clock::throttled, "throttled", "wall clock, the senders are paced in real time"},
    ClockEntry{Clock::native, "native", "wall clock over the network that MPI uses, as it is"}};

const ClockEntry& entry_of(Clock clock) {
  return *std::ranges::find(kClocks, clock, &ClockEntry::clock);
}

void check_per_device(const char* option, std::span<const double> values, int devices) {
  require_input(std::ssize(values) == devices, "{} has {} values for {} devices: give one a device",
                option, values.size(), devices);
  for (const double value : values)
    require_input(value > 0, "{} has the value {}: it must be positive", option, value);
}

void check_options(const FabricOptions& options, int devices, int hosts) {
  require_input(!options.links.empty(), "there is no link setting: give at least one rate");
  if (!options.slowness.empty()) check_per_device("slowness", options.slowness, devices);
  if (options.clock == Clock::modelled)
    check_per_device("device-gflops", options.device_flops_per_s, devices);
  for (const Link& link : options.links)
    require_input(
        link.loss == options.links.front().loss &&
            (!link.loss.drops() || link.packet_bytes() == options.links.front().packet_bytes()),
        "link settings that lose different packets cannot share one execution");
  if (!is_wall_clock(options.clock)) return;
  require_input(!options.links.front().loss.repeats(),
                "clock '{}' sends no packet again: use 'emulated', or loss with skip or reuse",
                to_string(options.clock));
  require_input(options.links.size() == 1,
                "clock '{}' was given {} link settings: it runs one at a time",
                to_string(options.clock), options.links.size());
  require_input(std::ranges::all_of(options.slowness, [](double value) { return value == 1; }),
                "clock '{}' cannot slow a device down: use 'emulated' with slowness",
                to_string(options.clock));
  require_input(options.clock == Clock::native ||
                    options.links.front().topology != Topology::shared || hosts == 1,
                "topology 'shared' under clock 'throttled' needs all ranks on one host, they are "
                "on {}",
                hosts);
}

std::unique_ptr<Fabric> make_checked(Transport& all, Transport* devices, FabricOptions options) {
  switch (options.clock) {
    case Clock::throttled:
      return std::make_unique<ThrottledFabric>(all, devices, std::move(options));
    case Clock::native:
      return std::make_unique<NativeFabric>(all, devices, std::move(options));
    case Clock::emulated:
    case Clock::modelled:
      break;
  }
  return std::make_unique<VirtualFabric>(all, devices, std::move(options));
}

}  // namespace

Clock parse_clock(std::string_view name) {
  return find_named("clock", name, kClocks).clock;
}

std::string_view to_string(Clock clock) {
  return entry_of(clock).name;
}
std::string_view clock_summary(Clock clock) {
  return entry_of(clock).summary;
}

std::unique_ptr<Fabric> make_fabric(Transport& transport, FabricOptions options) {
  check_options(options, transport.size(), transport.hosts());
  return make_checked(transport, &transport, std::move(options));
}

std::unique_ptr<Fabric> make_fabric_with_terminal(Transport& all, Transport* devices,
                                                  FabricOptions options) {
  const int terminal = all.size() - 1;
  TW_REQUIRE(terminal >= 1 && (devices == nullptr) == (all.rank() == terminal),
             "rank {} of {} joins the devices' transport, or the terminal does", all.rank(),
             all.size());
  TW_REQUIRE(devices == nullptr || (devices->size() == terminal && devices->rank() == all.rank()),
             "rank {} of {} is device {} of {}", all.rank(), all.size(), devices->rank(),
             devices->size());
  check_options(options, terminal, all.hosts());
  return make_checked(all, devices, std::move(options));
}

}  // namespace thinwire::fabric
