#include "thinwire/fabric/fabric.hpp"

#include <algorithm>
#include <numeric>

#include "thinwire/base/error.hpp"
#include "thinwire/fabric/watchdog.hpp"

namespace thinwire::fabric {
namespace {

std::int64_t sum(std::span<const std::int64_t> values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

}  // namespace

std::span<const std::byte> Delivery::from(int device) const {
  TW_REQUIRE(device >= 0 && device < std::ssize(sizes_), "device {} of {} that sent here", device,
             sizes_.size());
  const auto index = static_cast<std::size_t>(device);
  return all_.subspan(static_cast<std::size_t>(sum(sizes_.first(index))),
                      static_cast<std::size_t>(sizes_[index]));
}

bool Delivery::is_missing(int device, std::int64_t begin, std::int64_t end) const {
  if (!may_miss(device) || begin >= end) return false;
  const MessageLosses losses = losses_of(device);
  const std::int64_t packet_bytes = link_->packet_bytes();
  for (std::int64_t packet = begin / packet_bytes; packet * packet_bytes < end; ++packet)
    if (losses.is_lost(packet)) return true;
  return false;
}

Fabric::Fabric(Transport& all, Transport* devices, FabricOptions options)
    : all_(all), devices_(devices), options_(std::move(options)) {}

void Fabric::begin_iteration(std::int64_t iteration) {
  report("begin");
  all_.meet();
  operations_ = {};
  traffic_ = {};
  losses_ = {};
  timeline_.clear();
  windows_s_.clear();
  layer_ = 0;
  waited_ = started_;
  for (Slot& slot : slots_) {
    slot.is_busy = false;
    slot.into = {};
  }
  mpi_calls_at_begin_ = mpi_calls();
  begin_ = std::chrono::steady_clock::now();
  on_begin(iteration);
}

DeviceIteration Fabric::end_iteration() {
  TW_REQUIRE(waited_ == started_, "{} collectives were not waited for", started_ - waited_);
  DeviceIteration result;
  result.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  result.operations = operations_;
  on_end(result);
  for (const auto& [function, calls] : mpi_calls()) {
    const auto before = mpi_calls_at_begin_.find(function);
    const std::int64_t made = calls - (before == mpi_calls_at_begin_.end() ? 0 : before->second);
    if (made > 0) traffic_.mpi_calls[function] = made;
  }
  result.traffic = traffic_;
  result.losses = losses_;
  result.windows_s = windows_s_;
  return result;
}

Pending Fabric::all_gather(const Payload& payload, std::span<std::byte> into,
                           std::span<const std::int64_t> sizes,
                           std::optional<ExchangeNumber> number) {
  Slot& slot = prepare(Kind::all_gather, payload, into);
  expect(slot, sizes);
  if (drops_packets()) slot.number = number;
  return start(slot);
}

Pending Fabric::gather(int root, const Payload& payload, std::span<std::byte> into) {
  TW_REQUIRE(root >= 0 && root < all_.size(), "root {} of {} ranks", root, all_.size());
  Slot& slot = prepare(Kind::gather, payload, into);
  slot.root = root;
  return start(slot);
}

Pending Fabric::send_receive(const Payload& payload, int to, std::span<std::byte> into) {
  TW_REQUIRE(to >= -1 && to < devices() && to != device(), "device {} sends to {} of {}", device(),
             to, devices());
  Slot& slot = prepare(Kind::send_receive, to < 0 ? Payload{} : payload, into);
  slot.to = to;
  return start(slot);
}

Pending Fabric::scatter(std::span<const Payload> payloads, std::span<std::byte> into) {
  TW_REQUIRE(has_terminal(), "only a terminal scatters");
  TW_REQUIRE(std::ssize(payloads) == (is_terminal() ? devices() : 0),
             "device {} of {} scatters {} payloads", device(), devices(), payloads.size());
  Slot& slot = prepare(Kind::scatter, {}, into);
  slot.root = devices();
  slot.scattered.assign(payloads.begin(), payloads.end());
  return start(slot);
}

Fabric::Slot& Fabric::prepare(Kind kind, const Payload& payload, std::span<std::byte> into) {
  Slot& slot = free_slot(into.data());
  slot.kind = kind;
  slot.root = 0;
  slot.to = -1;
  slot.payload = payload;
  slot.scattered.clear();
  slot.into = into;
  slot.knows_sizes = false;
  slot.number.reset();
  return slot;
}

void Fabric::expect(Slot& slot, std::span<const std::int64_t> sizes) const {
  if (sizes.empty()) return;
  TW_REQUIRE(std::ssize(sizes) == devices() && !is_terminal(),
             "{} sizes of the payloads of {} devices", sizes.size(), devices());
  const std::int64_t mine = sizes[static_cast<std::size_t>(device())];
  TW_REQUIRE(mine == std::ssize(slot.payload.bytes), "device {} sends {} bytes, {} were expected",
             device(), slot.payload.bytes.size(), mine);
  slot.sizes.assign(sizes.begin(), sizes.end());
  slot.knows_sizes = true;
}

Pending Fabric::start(Slot& slot) {
  TW_REQUIRE(!is_terminal() || includes_terminal(slot),
             "the terminal takes part in scatter and in gather to itself alone");
  count(slot);
  slot.order = started_++;
  slot.is_busy = true;
  slot.window_start_s = compute_s();
  on_start(slot.index);
  return Pending(slot.index);
}

Delivery Fabric::wait(Pending pending) {
  const int index = std::exchange(pending.slot_, -1);
  TW_REQUIRE(index >= 0, "a collective is waited for twice");
  Slot& slot = slots_[static_cast<std::size_t>(index)];
  TW_REQUIRE(slot.is_busy && slot.order == waited_,
             "collective {} is waited for when {} is next (the order of starting)", slot.order,
             waited_);
  report("wait");
  windows_s_.push_back(compute_s() - slot.window_start_s);
  on_wait(index);
  if (slot.kind == Kind::all_gather) report_transfer(slot);
  slot.is_busy = false;
  ++waited_;
  if (!receives(slot)) return {{}, {}};
  Delivery delivery(slot.into.first(static_cast<std::size_t>(sum(slot.arrived))), slot.arrived);
  if (slot.number) drop_packets(delivery, slot);
  return delivery;
}

/// MPI loses nothing: what the link would have lost is taken out of the buffer again.
void Fabric::drop_packets(Delivery& delivery, const Slot& slot) {
  delivery.link_ = &options_.links.front();
  delivery.number_ = *slot.number;
  delivery.receiver_ = device();
  const std::int64_t packet_bytes = delivery.link_->packet_bytes();
  std::int64_t offset = 0;
  for (int from = 0; from < devices(); ++from) {
    const std::int64_t size = slot.arrived[static_cast<std::size_t>(from)];
    if (from != device()) losses_.packets += (size + packet_bytes - 1) / packet_bytes;
    delivery.for_each_lost(from, [&](std::int64_t begin, std::int64_t end) {
      ++losses_.lost_packets;
      std::ranges::fill(slot.into.subspan(static_cast<std::size_t>(offset + begin),
                                          static_cast<std::size_t>(end - begin)),
                        Delivery::kLostByte);
    });
    offset += size;
  }
}

void Fabric::count_lost_rows(std::int64_t rows, std::int64_t lost) {
  losses_.rows += rows;
  losses_.lost_rows += lost;
}

void Fabric::report_transfer(const Slot& slot) {
  last_transfer_ = {.duration_s = transfer_s(slot), .window_s = windows_s_.back()};
  for (int rank = 0; rank < std::ssize(slot.sizes); ++rank)
    if (rank != device())
      last_transfer_.longest_bytes =
          std::max(last_transfer_.longest_bytes, slot.sizes[static_cast<std::size_t>(rank)]);
}

void Fabric::mark(Milestone milestone) {
  on_mark(milestone);
}

/// A slot keeps the sizes that a Delivery shows, so one that served another buffer is not taken
/// before the next iteration: a Delivery lasts as long as its buffer.
Fabric::Slot& Fabric::free_slot(const std::byte* into) {
  const auto serves = [&](const std::byte* buffer) {
    return std::ranges::find_if(
        slots_, [buffer](const Slot& slot) { return !slot.is_busy && slot.into.data() == buffer; });
  };
  auto slot = serves(into);
  if (slot == slots_.end()) slot = serves(nullptr);
  if (slot != slots_.end()) return *slot;
  const auto ranks = static_cast<std::size_t>(all_.size());
  Slot& added = slots_.emplace_back();
  added.index = static_cast<int>(slots_.size()) - 1;
  added.sizes.reserve(ranks);
  added.messages.reserve(ranks);
  added.arrived.reserve(ranks);
  if (is_terminal()) added.scattered.reserve(ranks);
  return added;
}

void Fabric::count(const Slot& slot) {
  const bool stays_here =
      (slot.kind == Kind::gather && slot.root == device()) || slot.kind == Kind::scatter;
  const std::int64_t bytes_before = traffic_.wire_bytes;
  if (!stays_here) count(slot.payload);
  for (const Payload& payload : slot.scattered) count(payload);
  if (traffic_.wire_bytes > bytes_before) ++traffic_.exchanges;
}

void Fabric::count(const Payload& payload) {
  const std::int64_t bits = 8 * std::ssize(payload.bytes);
  TW_REQUIRE(payload.header_bits >= 0 && payload.padding_bits >= 0 &&
                 payload.header_bits + payload.padding_bits <= bits,
             "{} header and {} padding bits in {} bits", payload.header_bits, payload.padding_bits,
             bits);
  traffic_.header_bits += payload.header_bits;
  traffic_.padding_bits += payload.padding_bits;
  traffic_.payload_bits += bits - payload.header_bits - payload.padding_bits;
  traffic_.wire_bytes += bits / 8;
}

void Fabric::report(const char* phase) {
  if (options_.watchdog != nullptr) options_.watchdog->report(phase, layer_);
}

void Fabric::start_compute(Phase phase) {
  layer_ = phase.layer;
  report(phase.name);
  on_compute_start(phase);
}

}  // namespace thinwire::fabric
