// What ranks tell each other when they meet for a collective, and how its bytes then move.
#include <algorithm>
#include <numeric>

#include "thinwire/base/error.hpp"
#include "thinwire/fabric/fabric.hpp"

namespace thinwire::fabric {
namespace {

/// A stamp's first numbers: bytes contributed, receiver. A double holds sizes to 2^53 exactly.
enum StampHead : std::size_t { kBytes, kReceiver, kHeadSize };

std::int64_t sum(std::span<const std::int64_t> values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

}  // namespace

/// What a rank contributes; a scatter's devices say what they expect.
void Fabric::begin_stamp(const Slot& slot) {
  const bool expects = slot.kind == Kind::scatter && !is_terminal();
  stamps_.begin();
  const std::span<double> head = stamps_.add(kHeadSize);
  head[kBytes] = static_cast<double>(expects ? slot.into.size() : slot.payload.bytes.size());
  head[kReceiver] = slot.to;
}

void Fabric::exchange_stamps(Slot& slot) {
  Transport& transport = transport_of(slot);
  stamps_.exchange(transport);
  slot.sizes.resize(static_cast<std::size_t>(transport.size()));
  for (int rank = 0; rank < transport.size(); ++rank) {
    const auto bytes = static_cast<std::int64_t>(stamps_.of(rank)[kBytes]);
    std::int64_t& size = slot.sizes[static_cast<std::size_t>(rank)];
    TW_REQUIRE(!slot.knows_sizes || bytes == size, "device {} sent {} bytes, {} were expected",
               rank, bytes, size);
    size = bytes;
  }
  list_messages(slot);
  list_arrivals(slot);
}

void Fabric::take_known_sizes(Slot& slot) {
  list_messages(slot);
  list_arrivals(slot);
}

std::span<const double> Fabric::added_stamp(int rank) const {
  return stamps_.of(rank).subspan(kHeadSize);
}

void Fabric::list_messages(Slot& slot) {
  slot.messages.clear();
  if (slot.kind == Kind::all_gather) return;
  for (int rank = 0; rank < std::ssize(slot.sizes); ++rank) {
    const std::int64_t bytes = slot.sizes[static_cast<std::size_t>(rank)];
    const int to =
        slot.kind == Kind::gather ? slot.root : static_cast<int>(stamps_.of(rank)[kReceiver]);
    if (slot.kind == Kind::scatter) {
      if (rank != slot.root) slot.messages.push_back({slot.root, rank, bytes});
    } else if (to >= 0 && to != rank) {
      TW_REQUIRE(slot.kind == Kind::gather ||
                     std::ranges::find(slot.messages, to, &Message::to) == slot.messages.end(),
                 "device {} receives from two devices at once, one of them {}", to, rank);
      slot.messages.push_back({rank, to, bytes});
    }
  }
}

void Fabric::list_arrivals(Slot& slot) {
  if (slot.kind == Kind::all_gather || (slot.kind == Kind::gather && slot.root == device())) {
    slot.arrived = slot.sizes;  // one's own included
    return;
  }
  slot.arrived.assign(slot.sizes.size(), 0);
  for (const Message& message : slot.messages)
    if (message.to == device())
      slot.arrived[static_cast<std::size_t>(message.from)] = message.bytes;
}

bool Fabric::receives(const Slot& slot) const {
  if (slot.kind == Kind::gather) return slot.root == device();
  return slot.kind != Kind::scatter || !is_terminal();
}

void Fabric::move_bytes(Slot& slot) {
  const std::int64_t arriving = sum(slot.arrived);
  TW_REQUIRE(arriving <= std::ssize(slot.into), "{} bytes arrive, the buffer holds {}", arriving,
             slot.into.size());
  check_scattered(slot);
  if (sum(slot.sizes) == 0) return;  // known to all, so that none calls
  switch (slot.kind) {
    case Kind::all_gather:
      return transport_of(slot).all_gatherv(slot.payload.bytes, slot.sizes, slot.into);
    case Kind::gather:
      return transport_of(slot).gatherv(slot.root, slot.payload.bytes, slot.sizes, slot.into);
    case Kind::send_receive:
      return send_and_receive_bytes(slot);
    case Kind::scatter:
      return scatter_bytes(slot);
  }
}

void Fabric::send_and_receive_bytes(Slot& slot) {
  const auto incoming = std::ranges::find(slot.messages, device(), &Message::to);
  const bool is_receiver = incoming != slot.messages.end();
  const auto bytes = static_cast<std::size_t>(is_receiver ? incoming->bytes : 0);
  transport_of(slot).send_receive(slot.payload.bytes, slot.to, slot.into.first(bytes),
                                  is_receiver ? incoming->from : -1);
}

/// On the terminal; the devices scatter nothing.
void Fabric::check_scattered(const Slot& slot) const {
  for (std::size_t p = 0; p < slot.scattered.size(); ++p)
    TW_REQUIRE(std::ssize(slot.scattered[p].bytes) == slot.sizes[p],
               "the terminal sends {} bytes to device {}, which expects {}",
               slot.scattered[p].bytes.size(), p, slot.sizes[p]);
}

void Fabric::scatter_bytes(Slot& slot) {
  packed_.clear();
  for (const Payload& payload : slot.scattered)
    packed_.insert(packed_.end(), payload.bytes.begin(), payload.bytes.end());
  all_.scatterv(slot.root, packed_, slot.sizes, is_terminal() ? std::span<std::byte>{} : slot.into);
}

void Fabric::abandon_all() {
  all_.abandon();
  if (devices_ != nullptr) devices_->abandon();
}

std::map<std::string, std::int64_t> Fabric::mpi_calls() const {
  std::map<std::string, std::int64_t> calls = all_.mpi_calls();
  if (!has_terminal() || devices_ == nullptr) return calls;
  for (const auto& [function, count] : devices_->mpi_calls()) calls[function] += count;
  return calls;
}

}  // namespace thinwire::fabric
