#include "thinwire/fabric/link_model.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "thinwire/base/error.hpp"

namespace thinwire::fabric {
namespace {

std::size_t at(int device) {
  return static_cast<std::size_t>(device);
}

}  // namespace

LinkModel::LinkModel(Link link, int devices)
    : link_(std::move(link)), transmitter_free_s_(at(devices)), port_free_s_(at(devices)) {
  TW_REQUIRE(devices >= 1, "a link with {} devices", devices);
  require_input(link_.rates.size() == 1 || link_.rates.size() == at(devices),
                "rate {} has {} values for {} devices: give one for all or one a device",
                rates_to_string(link_.rates), link_.rates.size(), devices);
  order_.reserve(at(devices) * at(devices));
}

void LinkModel::reset() {
  std::ranges::fill(transmitter_free_s_, 0.0);
  std::ranges::fill(port_free_s_, 0.0);
  medium_free_s_ = 0;
  link_bits_ = 0;
}

void LinkModel::all_gather(std::span<const double> ready_s, std::span<const std::int64_t> bytes,
                           std::span<double> latest_arrival_s, std::vector<Transfer>* log) {
  check_sizes(ready_s.size(), bytes.size(), latest_arrival_s.size());
  std::ranges::fill(latest_arrival_s, 0.0);
  if (link_.topology == Topology::broadcast) {
    send_broadcasts(ready_s, bytes, latest_arrival_s, log);
    return;
  }
  order_.clear();
  for (int round = 1; round < devices(); ++round)
    for (int from = 0; from < devices(); ++from)
      order_.push_back({from, (from + round) % devices(), round});
  if (link_.topology == Topology::shared)
    std::ranges::sort(order_, {}, [&](const Message& message) {
      return std::tuple(ready_s[at(message.from)], message.from, message.round);
    });
  for (const Message& message : order_)
    send_copy(message, ready_s[at(message.from)], bytes[at(message.from)], latest_arrival_s, log);
}

void LinkModel::gather(int root, std::span<const double> ready_s,
                       std::span<const std::int64_t> bytes, std::span<double> latest_arrival_s,
                       std::vector<Transfer>* log) {
  check_sizes(ready_s.size(), bytes.size(), latest_arrival_s.size());
  TW_REQUIRE(root >= 0 && root < devices(), "root {} of {} devices", root, devices());
  std::ranges::fill(latest_arrival_s, 0.0);
  order_.clear();
  for (int from = 0; from < devices(); ++from)
    if (from != root) order_.push_back({from, root, 0});
  std::ranges::sort(order_, {}, [&](const Message& message) {
    return std::pair(ready_s[at(message.from)], message.from);
  });
  for (const Message& message : order_)
    send_copy(message, ready_s[at(message.from)], bytes[at(message.from)], latest_arrival_s, log);
}

void LinkModel::send_broadcasts(std::span<const double> ready_s,
                                std::span<const std::int64_t> bytes,
                                std::span<double> latest_arrival_s, std::vector<Transfer>* log) {
  if (devices() == 1) return;
  // All must hear the one transmission, so it runs at the slowest device's rate.
  const Rate rate = std::ranges::min(link_.rates);
  for (int from = 0; from < devices(); ++from) {
    if (bytes[at(from)] == 0) continue;
    const double start_s = std::max(ready_s[at(from)], transmitter_free_s_[at(from)]);
    const Transfer transfer = occupy(from, from, start_s, bytes[at(from)], rate, log);
    for (int to = 0; to < devices(); ++to)
      if (to != from)
        latest_arrival_s[at(to)] = std::max(latest_arrival_s[at(to)], transfer.arrival_s);
  }
}

void LinkModel::send_copy(const Message& message, double ready_s, std::int64_t bytes,
                          std::span<double> latest_arrival_s, std::vector<Transfer>* log) {
  if (bytes == 0) return;
  const auto [from, to, round] = message;
  double start_s = std::max(ready_s, transmitter_free_s_[at(from)]);
  if (link_.topology == Topology::unicast) start_s = std::max(start_s, port_free_s_[at(to)]);
  if (link_.topology == Topology::shared) start_s = std::max(start_s, medium_free_s_);
  const Transfer transfer = occupy(from, to, start_s, bytes, link_.between(from, to), log);
  port_free_s_[at(to)] = transfer.end_s;
  latest_arrival_s[at(to)] = std::max(latest_arrival_s[at(to)], transfer.arrival_s);
}

Transfer LinkModel::occupy(int from, int to, double start_s, std::int64_t bytes, Rate rate,
                           std::vector<Transfer>* log) {
  const double end_s = start_s + rate.seconds_for(8.0 * static_cast<double>(bytes));
  const Transfer transfer{from, to, start_s, end_s, end_s + link_.latency.value_s()};
  transmitter_free_s_[at(from)] = end_s;
  medium_free_s_ = std::max(medium_free_s_, end_s);
  link_bits_ += 8 * bytes;
  if (log != nullptr) log->push_back(transfer);
  return transfer;
}

void LinkModel::check_sizes(std::size_t ready, std::size_t bytes, std::size_t arrivals) const {
  TW_REQUIRE(ready == at(devices()) && bytes == at(devices()) && arrivals == at(devices()),
             "{} ready times, {} sizes and {} arrivals for {} devices", ready, bytes, arrivals,
             devices());
}

}  // namespace thinwire::fabric
