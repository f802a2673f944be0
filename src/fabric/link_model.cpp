#include "thinwire/fabric/link_model.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "thinwire/base/error.hpp"

namespace thinwire::fabric {
namespace {

std::size_t at(int node) {
  return static_cast<std::size_t>(node);
}

}  // namespace

LinkModel::LinkModel(Link link, int devices, bool has_terminal)
    : link_(std::move(link)),
      devices_(devices),
      transmitter_free_s_(at(devices) + (has_terminal ? 1 : 0)),
      port_free_s_(transmitter_free_s_.size()) {
  TW_REQUIRE(devices >= 1, "a link with {} devices", devices);
  require_input(link_.rates.size() == 1 || link_.rates.size() == at(devices),
                "rate {} has {} values for {} devices: give one for all or one a device",
                rates_to_string(link_.rates), link_.rates.size(), devices);
  queue_.reserve(transmitter_free_s_.size());
  order_.reserve(transmitter_free_s_.size());
}

void LinkModel::reset(std::int64_t iteration) {
  trace_start_s_ = link_.trace ? link_.trace->iteration_start_s(iteration) : 0;
  std::ranges::fill(transmitter_free_s_, 0.0);
  std::ranges::fill(port_free_s_, 0.0);
  medium_free_s_ = 0;
  link_bits_ = 0;
  repeated_packets_ = 0;
  number_ = {static_cast<std::uint64_t>(iteration), 0};
}

/// One that carried nothing has no number, so that schedules may leave it out.
void LinkModel::end_collective(std::int64_t bits_before) {
  if (link_bits_ > bits_before) ++number_.exchange;
}

void LinkModel::all_gather(std::span<const double> ready_s, std::span<const std::int64_t> bytes,
                           std::span<double> latest_arrival_s, std::vector<Transfer>* log) {
  TW_REQUIRE(ready_s.size() == at(devices_) && bytes.size() == at(devices_) &&
                 latest_arrival_s.size() == at(devices_),
             "{} ready times, {} sizes and {} arrivals for {} devices", ready_s.size(),
             bytes.size(), latest_arrival_s.size(), devices_);
  std::ranges::fill(latest_arrival_s, 0.0);
  if (devices_ == 1) return;
  const std::int64_t bits_before = link_bits_;
  switch (link_.topology) {
    case Topology::broadcast:
      send_broadcasts(ready_s, bytes, latest_arrival_s, log);
      break;
    case Topology::unicast:
      if (log == nullptr && is_in_step(ready_s, bytes))
        send_rounds_in_step(ready_s, bytes, latest_arrival_s);
      else
        send_rounds(ready_s, bytes, latest_arrival_s, log);
      break;
    case Topology::shared:
      send_in_turn(ready_s, bytes, latest_arrival_s, log);
      break;
  }
  end_collective(bits_before);
}

void LinkModel::send(std::span<const double> ready_s, std::span<const Message> messages,
                     std::span<double> latest_arrival_s, std::vector<Transfer>* log) {
  TW_REQUIRE(ready_s.size() == latest_arrival_s.size() && ready_s.size() <= at(nodes()),
             "{} ready times and {} arrivals for {} nodes", ready_s.size(), latest_arrival_s.size(),
             nodes());
  std::ranges::fill(latest_arrival_s, 0.0);
  const auto is_node = [&](int node) { return node >= 0 && at(node) < ready_s.size(); };
  queue_.clear();
  for (const Message& message : messages) {
    TW_REQUIRE(is_node(message.from) && is_node(message.to) && message.from != message.to,
               "a message from node {} to node {} of {}", message.from, message.to, ready_s.size());
    enqueue(message);
  }
  sort_queue(ready_s);
  const std::int64_t bits_before = link_bits_;
  serve_queue(ready_s, latest_arrival_s, log);
  end_collective(bits_before);
}

void LinkModel::gather(int root, std::span<const double> ready_s,
                       std::span<const std::int64_t> bytes, std::span<double> latest_arrival_s,
                       std::vector<Transfer>* log) {
  const auto count = static_cast<int>(ready_s.size());
  TW_REQUIRE(bytes.size() == ready_s.size() && latest_arrival_s.size() == ready_s.size() &&
                 count <= nodes() && root >= 0 && root < count,
             "{} ready times, {} sizes and {} arrivals for {} nodes and root {}", count,
             bytes.size(), latest_arrival_s.size(), nodes(), root);
  std::ranges::fill(latest_arrival_s, 0.0);
  queue_.clear();
  for (int from = 0; from < count; ++from)
    if (from != root) enqueue({from, root, bytes[at(from)]});
  sort_queue(ready_s);
  const std::int64_t bits_before = link_bits_;
  serve_queue(ready_s, latest_arrival_s, log);
  end_collective(bits_before);
}

/// Cost: P. All hear the latest transmission, but for its sender, who hears the second latest.
void LinkModel::send_broadcasts(std::span<const double> ready_s,
                                std::span<const std::int64_t> bytes,
                                std::span<double> latest_arrival_s, std::vector<Transfer>* log) {
  // All must hear the one transmission, so it runs at the slowest device's rate.
  const Rate rate = std::ranges::min(link_.rates);
  double latest_s = 0, second_s = 0;
  int latest_from = -1;
  for (int from = 0; from < devices_; ++from) {
    if (bytes[at(from)] == 0) continue;
    const double start_s = std::max(ready_s[at(from)], transmitter_free_s_[at(from)]);
    const double arrival_s = occupy({from, from, bytes[at(from)]}, start_s, rate, log).arrival_s;
    if (arrival_s > latest_s) {
      second_s = std::exchange(latest_s, arrival_s);
      latest_from = from;
    } else {
      second_s = std::max(second_s, arrival_s);
    }
  }
  for (int to = 0; to < devices_; ++to)
    latest_arrival_s[at(to)] = to == latest_from ? second_s : latest_s;
}

/// In round r device p sends to p + r. Cost: P (P - 1), the number of messages.
void LinkModel::send_rounds(std::span<const double> ready_s, std::span<const std::int64_t> bytes,
                            std::span<double> latest_arrival_s, std::vector<Transfer>* log) {
  for (int round = 1; round < devices_; ++round)
    for (int from = 0, to = round; from < devices_; ++from, to = next_device(to))
      serve({from, to, bytes[at(from)]}, ready_s, latest_arrival_s, log);
}

/// Whether all devices begin equal messages at one time on a switch that is free by then: they then
/// end every round together.
bool LinkModel::is_in_step(std::span<const double> ready_s,
                           std::span<const std::int64_t> bytes) const {
  const double start_s = std::max(ready_s[0], transmitter_free_s_[0]);
  bool is_equal = link_.rates.size() == 1 && bytes[0] > 0 && !link_.loss.repeats();
  for (std::size_t p = 0; is_equal && p < at(devices_); ++p)
    is_equal = bytes[p] == bytes[0] && std::max(ready_s[p], transmitter_free_s_[p]) == start_s &&
               port_free_s_[p] <= start_s;
  return is_equal;
}

/// send_rounds() of devices that are in step, to the last bit: one stands for all. Cost: P.
void LinkModel::send_rounds_in_step(std::span<const double> ready_s,
                                    std::span<const std::int64_t> bytes,
                                    std::span<double> latest_arrival_s) {
  const std::int64_t bits_before = link_bits_;
  for (int round = 1; round < devices_; ++round)
    serve({0, round, bytes[0]}, ready_s, latest_arrival_s, nullptr);
  link_bits_ += (link_bits_ - bits_before) * (devices_ - 1);
  const auto devices = static_cast<std::ptrdiff_t>(devices_);
  const auto all_take = [devices](auto&& values, double value) {
    std::fill_n(values.begin(), devices, value);
  };
  all_take(latest_arrival_s, latest_arrival_s[at(devices_ - 1)]);
  all_take(port_free_s_, transmitter_free_s_[0]);
  all_take(transmitter_free_s_, transmitter_free_s_[0]);
}

/// On one medium a sender's messages follow one another, the senders by (ready time, device).
/// Cost: P (P - 1), the number of messages; only senders are sorted.
void LinkModel::send_in_turn(std::span<const double> ready_s, std::span<const std::int64_t> bytes,
                             std::span<double> latest_arrival_s, std::vector<Transfer>* log) {
  order_.resize(at(devices_));
  std::iota(order_.begin(), order_.end(), 0);
  std::ranges::sort(order_, {}, [&](int from) { return std::pair(ready_s[at(from)], from); });
  for (const int from : order_)
    for (int to = next_device(from); to != from; to = next_device(to))
      serve({from, to, bytes[at(from)]}, ready_s, latest_arrival_s, log);
}

void LinkModel::enqueue(const Message& message) {
  if (message.bytes > 0) queue_.push_back({message, static_cast<int>(queue_.size())});
}

/// The position makes the order total: a stable sort would allocate.
void LinkModel::sort_queue(std::span<const double> ready_s) {
  std::ranges::sort(queue_, {}, [&](const Queued& queued) {
    const int from = queued.message.from;
    return std::tuple(ready_s[at(from)], from, queued.position);
  });
}

void LinkModel::serve_queue(std::span<const double> ready_s, std::span<double> latest_arrival_s,
                            std::vector<Transfer>* log) {
  for (const Queued& queued : queue_) serve(queued.message, ready_s, latest_arrival_s, log);
}

void LinkModel::serve(const Message& message, std::span<const double> ready_s,
                      std::span<double> latest_arrival_s, std::vector<Transfer>* log) {
  if (message.bytes == 0) return;
  const std::size_t from = at(message.from), to = at(message.to);
  double start_s = std::max(ready_s[from], transmitter_free_s_[from]);
  if (link_.topology == Topology::unicast) start_s = std::max(start_s, port_free_s_[to]);
  if (link_.topology == Topology::shared) start_s = std::max(start_s, medium_free_s_);
  const Rate rate = link_.between(message.from, message.to);
  const Transfer transfer = occupy(message, start_s, rate, log);
  port_free_s_[to] = transfer.end_s;
  latest_arrival_s[to] = std::max(latest_arrival_s[to], transfer.arrival_s);
}

double LinkModel::end_of_transfer_s(std::int64_t bits, double start_s, Rate rate) const {
  const auto count = static_cast<double>(bits);
  if (!link_.trace) return start_s + rate.seconds_for(count);
  const double end_s = link_.trace->end_s(trace_start_s_ + start_s, count) - trace_start_s_;
  return std::max(start_s, end_s);  // not before, where time is rounded
}

Transfer LinkModel::occupy(const Message& message, double start_s, Rate rate,
                           std::vector<Transfer>* log) {
  const Repeats repeats = link_.loss.repeats() ? repeats_of(message) : Repeats{};
  const std::int64_t bits = 8 * (link_.bytes_on_link(message.bytes) + repeats.bytes);
  const double end_s = end_of_transfer_s(bits, start_s, rate);
  const Transfer transfer{message.from, message.to, start_s, end_s,
                          end_s + (1 + 2 * repeats.rounds) * link_.latency.value_s()};
  transmitter_free_s_[at(message.from)] = end_s;
  medium_free_s_ = std::max(medium_free_s_, end_s);
  link_bits_ += bits;
  repeated_packets_ += repeats.packets;
  if (log != nullptr) log->push_back(transfer);
  return transfer;
}

LinkModel::Repeats LinkModel::repeats_of(const Message& message) const {
  const std::int64_t packet_bytes = link_.packet_bytes();
  Repeats repeats;
  for (std::int64_t packet = 0, left = message.bytes; left > 0; ++packet, left -= packet_bytes) {
    const int again = transmissions(message, packet) - 1;
    if (again == 0) continue;
    const std::int64_t bytes = std::min(left, packet_bytes) + link_.overhead.header_bytes;
    repeats.packets += again;
    repeats.bytes += again * bytes;
    repeats.rounds = std::max(repeats.rounds, again);
  }
  return repeats;
}

/// Of one packet until its receiver has it: for a broadcast, a message of a device to itself, until
/// all the others have.
int LinkModel::transmissions(const Message& message, std::int64_t packet) const {
  const auto until_at = [&](int to) {
    return MessageLosses(link_.loss, number_, message.from, to).transmissions(packet);
  };
  if (message.to != message.from) return until_at(message.to);
  int most = 1;
  for (int to = 0; to < devices_; ++to)
    if (to != message.from) most = std::max(most, until_at(to));
  return most;
}

void LinkModel::save_state(std::span<double> state) const {
  TW_REQUIRE(state.size() == state_size(), "{} numbers for a state of {}", state.size(),
             state_size());
  auto next = std::ranges::copy(transmitter_free_s_, state.begin()).out;
  next = std::ranges::copy(port_free_s_, next).out;
  *next++ = medium_free_s_;
  *next++ = static_cast<double>(link_bits_);
  *next++ = static_cast<double>(repeated_packets_);
  *next = static_cast<double>(number_.exchange);
}

void LinkModel::load_state(std::span<const double> state) {
  TW_REQUIRE(state.size() == state_size(), "{} numbers for a state of {}", state.size(),
             state_size());
  const std::size_t count = transmitter_free_s_.size();
  std::ranges::copy(state.first(count), transmitter_free_s_.begin());
  std::ranges::copy(state.subspan(count, count), port_free_s_.begin());
  medium_free_s_ = state[2 * count];
  link_bits_ = static_cast<std::int64_t>(state[2 * count + 1]);
  repeated_packets_ = static_cast<std::int64_t>(state[2 * count + 2]);
  number_.exchange = static_cast<std::uint64_t>(state.back());
}

}  // namespace thinwire::fabric
