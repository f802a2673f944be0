#include "thinwire/fabric/fabric.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "fabric/throttled_fabric.hpp"
#include "fabric/virtual_fabric.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/base/named.hpp"
#include "thinwire/fabric/watchdog.hpp"

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
    ClockEntry{Clock::throttled, "throttled", "wall clock, the senders are paced in real time"}};

const ClockEntry& entry_of(Clock clock) {
  return *std::ranges::find(kClocks, clock, &ClockEntry::clock);
}

std::int64_t sum(std::span<const std::int64_t> values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

void check_per_device(const char* option, std::span<const double> values, int devices) {
  require_input(std::ssize(values) == devices, "{} has {} values for {} devices: give one a device",
                option, values.size(), devices);
  for (const double value : values)
    require_input(value > 0, "{} has the value {}: it must be positive", option, value);
}

void check_options(const FabricOptions& options, const Transport& transport) {
  require_input(!options.links.empty(), "there is no link setting: give at least one rate");
  if (!options.slowness.empty()) check_per_device("slowness", options.slowness, transport.size());
  if (options.clock == Clock::modelled)
    check_per_device("device-gflops", options.device_flops_per_s, transport.size());
  if (options.clock != Clock::throttled) return;
  require_input(options.links.size() == 1,
                "clock 'throttled' was given {} link settings: it runs one at a time",
                options.links.size());
  require_input(std::ranges::all_of(options.slowness, [](double value) { return value == 1; }),
                "clock 'throttled' cannot slow a device down: use 'emulated' with slowness");
  require_input(options.links.front().topology != Topology::shared || transport.hosts() == 1,
                "topology 'shared' under clock 'throttled' needs all ranks on one host, they are "
                "on {}",
                transport.hosts());
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

std::span<const std::byte> Delivery::from(int device) const {
  TW_REQUIRE(device >= 0 && device < std::ssize(sizes_), "device {} of {} that sent here", device,
             sizes_.size());
  const auto index = static_cast<std::size_t>(device);
  return all_.subspan(static_cast<std::size_t>(sum(sizes_.first(index))),
                      static_cast<std::size_t>(sizes_[index]));
}

Fabric::Fabric(Transport& transport, FabricOptions options)
    : transport_(transport), options_(std::move(options)) {}

void Fabric::begin_iteration() {
  report("begin");
  transport_.meet();
  operations_ = {};
  traffic_ = {};
  timeline_.clear();
  layer_ = 0;
  waited_ = started_;
  for (Slot& slot : slots_) {
    slot.is_busy = false;
    slot.into = {};
  }
  mpi_calls_at_begin_ = transport_.mpi_calls();
  begin_ = std::chrono::steady_clock::now();
  on_begin();
}

DeviceIteration Fabric::end_iteration() {
  TW_REQUIRE(waited_ == started_, "{} collectives were not waited for", started_ - waited_);
  DeviceIteration result;
  result.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  result.operations = operations_;
  on_end(result);
  for (const auto& [function, calls] : transport_.mpi_calls()) {
    const auto before = mpi_calls_at_begin_.find(function);
    const std::int64_t made = calls - (before == mpi_calls_at_begin_.end() ? 0 : before->second);
    if (made > 0) traffic_.mpi_calls[function] = made;
  }
  result.traffic = traffic_;
  return result;
}

Pending Fabric::all_gather(const Payload& payload, std::span<std::byte> into) {
  return start(Kind::all_gather, 0, payload, into);
}

Pending Fabric::gather(int root, const Payload& payload, std::span<std::byte> into) {
  TW_REQUIRE(root >= 0 && root < devices(), "root {} of {} devices", root, devices());
  return start(Kind::gather, root, payload, into);
}

Pending Fabric::start(Kind kind, int root, const Payload& payload, std::span<std::byte> into) {
  const std::int64_t bits = 8 * std::ssize(payload.bytes);
  TW_REQUIRE(payload.header_bits >= 0 && payload.padding_bits >= 0 &&
                 payload.header_bits + payload.padding_bits <= bits,
             "{} header and {} padding bits in {} bits", payload.header_bits, payload.padding_bits,
             bits);
  const int index = free_slot(into.data());
  Slot& slot = slots_[static_cast<std::size_t>(index)];
  slot.kind = kind;
  slot.root = root;
  slot.payload = payload;
  slot.into = into;
  slot.order = started_++;
  slot.is_busy = true;
  count(slot);
  on_start(index);
  return Pending(index);
}

Delivery Fabric::wait(Pending pending) {
  const int index = std::exchange(pending.slot_, -1);
  TW_REQUIRE(index >= 0, "a collective is waited for twice");
  Slot& slot = slots_[static_cast<std::size_t>(index)];
  TW_REQUIRE(slot.is_busy && slot.order == waited_,
             "collective {} is waited for when {} is next (the order of starting)", slot.order,
             waited_);
  report("wait");
  on_wait(index);
  slot.is_busy = false;
  ++waited_;
  if (!slot.is_received_by(device())) return {{}, {}};
  return {slot.into.first(static_cast<std::size_t>(sum(slot.sizes))), slot.sizes};
}

/// A slot keeps the sizes that a Delivery shows, so one that served another buffer is not taken
/// before the next iteration: a Delivery lasts as long as its buffer.
int Fabric::free_slot(const std::byte* into) {
  const auto serves = [&](const std::byte* buffer) {
    return std::ranges::find_if(
        slots_, [buffer](const Slot& slot) { return !slot.is_busy && slot.into.data() == buffer; });
  };
  auto slot = serves(into);
  if (slot == slots_.end()) slot = serves(nullptr);
  if (slot == slots_.end()) {
    slots_.emplace_back().sizes.resize(static_cast<std::size_t>(devices()));
    slot = std::prev(slots_.end());
  }
  return static_cast<int>(slot - slots_.begin());
}

void Fabric::count(const Slot& slot) {
  const std::int64_t bytes = std::ssize(slot.payload.bytes);
  if (bytes == 0 || !slot.is_sent_by(device())) return;
  traffic_.header_bits += slot.payload.header_bits;
  traffic_.padding_bits += slot.payload.padding_bits;
  traffic_.payload_bits += 8 * bytes - slot.payload.header_bits - slot.payload.padding_bits;
  traffic_.wire_bytes += bytes;
  ++traffic_.exchanges;
}

void Fabric::exchange_sizes(Slot& slot) {
  const std::int64_t mine = std::ssize(slot.payload.bytes);
  transport_.all_gather(std::as_bytes(std::span(&mine, 1)),
                        std::as_writable_bytes(std::span(slot.sizes)));
}

void Fabric::move_bytes(Slot& slot) {
  const std::int64_t total = sum(slot.sizes);
  TW_REQUIRE(!slot.is_received_by(device()) || total <= std::ssize(slot.into),
             "{} bytes arrive, the buffer holds {}", total, slot.into.size());
  if (total == 0) return;  // known to all, so that none calls
  if (slot.kind == Kind::all_gather)
    transport_.all_gatherv(slot.payload.bytes, slot.sizes, slot.into);
  else
    transport_.gatherv(slot.root, slot.payload.bytes, slot.sizes, slot.into);
}

void Fabric::report(const char* phase) {
  if (options_.watchdog != nullptr) options_.watchdog->report(phase, layer_);
}

void Fabric::start_compute(Phase phase) {
  layer_ = phase.layer;
  report(phase.name);
  on_compute_start(phase);
}

std::unique_ptr<Fabric> make_fabric(Transport& transport, FabricOptions options) {
  check_options(options, transport);
  if (options.clock == Clock::throttled)
    return std::make_unique<ThrottledFabric>(transport, std::move(options));
  return std::make_unique<VirtualFabric>(transport, std::move(options));
}

}  // namespace thinwire::fabric
