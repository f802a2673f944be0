#include "thinwire/cost/energy.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace thinwire::cost {
namespace {

using Kind = ScheduledExchange::Kind;

class RadioMeter {
 public:
  RadioMeter(const fabric::Link& link, std::size_t devices) : link_(link), loads_(devices) {}

  void add(const ScheduledExchange& exchange) {
    for (std::size_t p = 0; p < exchange.bytes.size(); ++p) {
      if (exchange.bytes[p] == 0) continue;
      if (exchange.kind == Kind::all_gather)
        to_all(p, exchange.bytes[p]);
      else if (exchange.kind == Kind::scatter)
        carry(terminal(), p, exchange.bytes[p]);
      else if (exchange.kind == Kind::collect)
        carry(p, terminal(), exchange.bytes[p]);
      else if (exchange.kind == Kind::send_receive)
        carry(p, static_cast<std::size_t>(exchange.to[p]), exchange.bytes[p]);
      else if (p != 0)  // gather: what device 0 has does not leave it
        carry(p, 0, exchange.bytes[p]);
    }
  }
  std::vector<RadioLoad> loads() && { return std::move(loads_); }

 private:
  std::size_t terminal() const { return loads_.size(); }

  void to_all(std::size_t from, std::int64_t bytes) {
    if (link_.topology != fabric::Topology::broadcast) {
      for (std::size_t to = 0; to < loads_.size(); ++to)
        if (to != from) carry(from, to, bytes);
      return;
    }
    if (loads_.size() == 1) return;
    const Rate rate = std::ranges::min(link_.rates);  // all must hear it
    const int receivers = static_cast<int>(loads_.size()) - 1;
    send(from, bytes, rate, receivers);
    for (std::size_t to = 0; to < loads_.size(); ++to)
      if (to != from) receive(to, bytes, rate, receivers);
  }

  void carry(std::size_t from, std::size_t to, std::int64_t bytes) {
    const Rate rate = link_.between(static_cast<int>(from), static_cast<int>(to));
    send(from, bytes, rate);
    receive(to, bytes, rate);
  }

  void send(std::size_t from, std::int64_t bytes, Rate rate, int receivers = 1) {
    if (from == terminal()) return;
    const std::int64_t bits = 8 * link_.mean_bytes_on_link(bytes, receivers);
    loads_[from].sent_bits += bits;
    loads_[from].transmit_s += rate.seconds_for(static_cast<double>(bits));
  }

  void receive(std::size_t to, std::int64_t bytes, Rate rate, int receivers = 1) {
    if (to == terminal()) return;
    const std::int64_t bits = 8 * link_.mean_bytes_on_link(bytes, receivers);
    loads_[to].received_bits += bits;
    loads_[to].receive_s += rate.seconds_for(static_cast<double>(bits));
  }

  const fabric::Link& link_;
  std::vector<RadioLoad> loads_;
};

}  // namespace

std::vector<RadioLoad> radio_loads(std::span<const Prediction> sequences,
                                   const fabric::Link& link) {
  const std::size_t devices = sequences.empty() ? 0 : sequences.front().tail.size();
  RadioMeter meter(link, devices);
  for (const Prediction& sequence : sequences)
    for (const ScheduledExchange& exchange : sequence.exchanges) meter.add(exchange);
  return std::move(meter).loads();
}

double energy_j(const Powers& powers, double compute_s, double latency_s, const RadioLoad& radio) {
  return compute_s * powers.compute_w + (latency_s - compute_s) * powers.idle_w +
         (radio.transmit_s + radio.receive_s) * powers.radio_w;
}

}  // namespace thinwire::cost
