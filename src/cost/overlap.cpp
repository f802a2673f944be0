#include "thinwire/cost/overlap.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "thinwire/base/error.hpp"
#include "thinwire/fabric/link_model.hpp"

namespace thinwire::cost {
namespace {

bool precedes_block(const ScheduledExchange& exchange) {
  return exchange.kind == ScheduledExchange::Kind::all_gather;
}

/// From a common start on an idle link to the last arrival. Most exchanges of a pass have equal
/// sizes: those are played once.
class TransferTime {
 public:
  explicit TransferTime(fabric::Link link) : link_(std::move(link)) {}

  double operator()(const ScheduledExchange& exchange) {
    if (exchange.bytes == bytes_) return last_s_;
    bytes_ = exchange.bytes;
    const std::vector<double> ready_s(bytes_.size(), 0.0);
    std::vector<double> arrival_s(bytes_.size());
    fabric::LinkModel(link_, static_cast<int>(bytes_.size()))
        .all_gather(ready_s, bytes_, arrival_s);
    return last_s_ = std::ranges::max(arrival_s);
  }

 private:
  fabric::Link link_;
  std::vector<std::int64_t> bytes_;
  double last_s_ = 0;
};

/// Transfers take bits / rate + latency, whatever the topology: so many bits follow one another.
double slowest_hidden_rate(double bits, double latency_s, double window_s) {
  if (bits == 0) return 0;
  const double rest_s = window_s - latency_s;
  return rest_s > 0 ? bits / rest_s : std::numeric_limits<double>::infinity();
}

}  // namespace

std::vector<ExchangeOverlap> overlap_law(const Prediction& prediction, const fabric::Link& link,
                                         std::span<const double> windows_s) {
  const auto exchanges = std::ranges::count_if(prediction.exchanges, precedes_block);
  TW_REQUIRE(exchanges == std::ssize(windows_s), "{} windows for {} exchanges", windows_s.size(),
             exchanges);
  TransferTime transfer_s(at_mean_rate(link));
  TransferTime bits(
      {.rates = {Rate::bits_per_second(1)}, .topology = link.topology, .overhead = link.overhead});
  std::vector<ExchangeOverlap> law;
  for (const ScheduledExchange& exchange : prediction.exchanges) {
    if (!precedes_block(exchange)) continue;
    const double window_s = windows_s[law.size()];
    const double needed_s = transfer_s(exchange);
    law.push_back({.transfer_s = needed_s,
                   .window_s = window_s,
                   .excess_s = std::max(needed_s, window_s) - window_s,
                   .slowest_hidden_rate_bit_per_s =
                       slowest_hidden_rate(bits(exchange), link.latency.value_s(), window_s)});
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
