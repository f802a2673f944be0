#include "thinwire/cost/modelled_time.hpp"

#include "thinwire/base/error.hpp"
#include "thinwire/fabric/device_clock.hpp"
#include "thinwire/fabric/link_model.hpp"

namespace thinwire::cost {
namespace {

/// The devices' clocks under one link.
class Timeline {
 public:
  Timeline(const fabric::Link& link, std::size_t devices)
      : link_(link, static_cast<int>(devices)),
        clocks_(devices),
        published_s_(devices),
        arrival_s_(devices) {}

  void set_compute_s(std::span<const double> total_s) {
    for (std::size_t p = 0; p < clocks_.size(); ++p) clocks_[p].set_compute_s(total_s[p]);
  }
  void publish(const ScheduledExchange& exchange) {
    for (std::size_t p = 0; p < clocks_.size(); ++p) published_s_[p] = clocks_[p].now_s();
    if (exchange.kind == ScheduledExchange::Kind::all_gather)
      link_.all_gather(published_s_, exchange.bytes, arrival_s_);
    else
      link_.gather(0, published_s_, exchange.bytes, arrival_s_);
  }
  void wait() {
    for (std::size_t p = 0; p < clocks_.size(); ++p)
      clocks_[p].wait_until(arrival_s_[p], published_s_[p]);
  }
  const fabric::DeviceClock& clock(std::size_t device) const { return clocks_[device]; }

 private:
  fabric::LinkModel link_;
  std::vector<fabric::DeviceClock> clocks_;
  std::vector<double> published_s_, arrival_s_;
};

/// Compute time of every device since the iteration's start.
class ComputeMeter {
 public:
  ComputeMeter(std::span<const double> flops_per_s, std::span<const double> slowness)
      : flops_per_s_(flops_per_s),
        slowness_(slowness),
        flops_(flops_per_s.size(), 0),
        total_s_(flops_per_s.size(), 0.0) {}

  /// Seconds are taken of the running total, as the fabric does: a sum of rounded parts would
  /// differ in the last bit.
  std::span<const double> add(std::span<const Operations> work) {
    for (std::size_t p = 0; p < flops_.size(); ++p) {
      flops_[p] += flops(work[p], Convention::paper);
      total_s_[p] = static_cast<double>(flops_[p]) * slowness_[p] / flops_per_s_[p];
    }
    return total_s_;
  }

 private:
  std::span<const double> flops_per_s_, slowness_;
  std::vector<std::int64_t> flops_;
  std::vector<double> total_s_;
};

fabric::Link unlimited(const fabric::Link& link) {
  return {.rates = {Rate::unlimited()}, .latency = Seconds{}, .topology = link.topology};
}

void check(std::span<const Prediction> sequences, std::span<const double> flops_per_s,
           std::span<const double> slowness) {
  TW_REQUIRE(slowness.size() == flops_per_s.size(), "{} slowness values for {} device rates",
             slowness.size(), flops_per_s.size());
  for (const Prediction& sequence : sequences)
    TW_REQUIRE(sequence.tail.size() == flops_per_s.size(), "a schedule of {} devices for {} rates",
               sequence.tail.size(), flops_per_s.size());
}

}  // namespace

std::vector<DeviceTime> modelled_time(std::span<const Prediction> sequences,
                                      const fabric::Link& link,
                                      std::span<const double> device_flops_per_s,
                                      std::span<const double> slowness) {
  check(sequences, device_flops_per_s, slowness);
  const std::size_t devices = device_flops_per_s.size();
  ComputeMeter meter(device_flops_per_s, slowness);
  // Beside the link asked for runs an unlimited one: the waiting that remains there is skew.
  Timeline real(link, devices), ideal(unlimited(link), devices);
  const auto compute = [&](std::span<const Operations> work) {
    const std::span<const double> total_s = meter.add(work);
    for (Timeline* timeline : {&real, &ideal}) timeline->set_compute_s(total_s);
  };

  for (const Prediction& sequence : sequences) {
    for (const ScheduledExchange& exchange : sequence.exchanges) {
      compute(exchange.before);
      for (Timeline* timeline : {&real, &ideal}) timeline->publish(exchange);
      compute(exchange.window);
      for (Timeline* timeline : {&real, &ideal}) timeline->wait();
    }
    compute(sequence.tail);
  }

  std::vector<DeviceTime> times;
  for (std::size_t p = 0; p < devices; ++p)
    times.push_back({.compute_s = real.clock(p).compute_s(),
                     .wait_s = real.clock(p).wait_s(),
                     .hidden_s = real.clock(p).hidden_s(),
                     .skew_s = ideal.clock(p).wait_s()});
  return times;
}

double nominal_communication_s(const Prediction& prediction, const fabric::Link& link) {
  // Bits per inference rather than exchanges * bits: a strategy's first exchange may differ.
  return link.rates.front().seconds_for(prediction.nominal_bits_per_inference);
}

}  // namespace thinwire::cost
