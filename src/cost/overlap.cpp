#include "thinwire/cost/overlap.hpp"

#include <algorithm>
#include <limits>

#include "thinwire/base/error.hpp"
#include "thinwire/fabric/link_model.hpp"

namespace thinwire::cost {
namespace {

bool precedes_block(const ScheduledExchange& exchange) {
  return exchange.kind == ScheduledExchange::Kind::all_gather;
}

/// From a common start on an idle link to the last arrival.
double transfer_s(const ScheduledExchange& exchange, const fabric::Link& link) {
  const std::size_t devices = exchange.bytes.size();
  const std::vector<double> ready_s(devices, 0.0);
  std::vector<double> arrival_s(devices);
  fabric::LinkModel(link, static_cast<int>(devices)).all_gather(ready_s, exchange.bytes, arrival_s);
  return std::ranges::max(arrival_s);
}

/// Transfers take bits / rate + latency, whatever the topology: so many bits follow one another.
double slowest_hidden_rate(const ScheduledExchange& exchange, const fabric::Link& link,
                           double window_s) {
  const fabric::Link bit_a_second{.rates = {Rate::bits_per_second(1)}, .topology = link.topology};
  const double bits = transfer_s(exchange, bit_a_second);
  if (bits == 0) return 0;
  const double rest_s = window_s - link.latency.value_s();
  return rest_s > 0 ? bits / rest_s : std::numeric_limits<double>::infinity();
}

}  // namespace

std::vector<ExchangeOverlap> overlap_law(const Prediction& prediction, const fabric::Link& link,
                                         std::span<const double> windows_s) {
  const auto exchanges = std::ranges::count_if(prediction.exchanges, precedes_block);
  TW_REQUIRE(exchanges == std::ssize(windows_s), "{} windows for {} exchanges", windows_s.size(),
             exchanges);
  std::vector<ExchangeOverlap> law;
  for (const ScheduledExchange& exchange : prediction.exchanges) {
    if (!precedes_block(exchange)) continue;
    const double window_s = windows_s[law.size()];
    const double needed_s = transfer_s(exchange, link);
    law.push_back({.transfer_s = needed_s,
                   .window_s = window_s,
                   .excess_s = std::max(needed_s, window_s) - window_s,
                   .slowest_hidden_rate_bit_per_s = slowest_hidden_rate(exchange, link, window_s)});
  }
  return law;
}

std::vector<double> modelled_windows_s(const Prediction& prediction,
                                       std::span<const double> device_flops_per_s,
                                       std::span<const double> slowness) {
  const std::size_t devices = prediction.tail.size();
  TW_REQUIRE(device_flops_per_s.size() == devices && slowness.size() == devices,
             "{} rates and {} slowness values for {} devices", device_flops_per_s.size(),
             slowness.size(), devices);
  std::vector<double> windows_s;
  for (const ScheduledExchange& exchange : prediction.exchanges) {
    if (!precedes_block(exchange)) continue;
    double shortest_s = std::numeric_limits<double>::infinity();
    for (std::size_t p = 0; p < devices; ++p) {
      const auto work = static_cast<double>(flops(exchange.window[p], Convention::paper));
      shortest_s = std::min(shortest_s, work * slowness[p] / device_flops_per_s[p]);
    }
    windows_s.push_back(shortest_s);
  }
  return windows_s;
}

}  // namespace thinwire::cost
