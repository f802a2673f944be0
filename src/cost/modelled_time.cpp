#include "thinwire/cost/modelled_time.hpp"

#include <algorithm>

#include "thinwire/base/error.hpp"
#include "thinwire/fabric/device_clock.hpp"
#include "thinwire/fabric/link_model.hpp"

namespace thinwire::cost {
namespace {

using Kind = ScheduledExchange::Kind;

// Positions in DeviceTime::milestone_s.
constexpr std::size_t kDistributed = 0, kFirstOutput = 1, kComputed = 2;

/// The clocks of all members, the devices and a terminal if there is one, under one link.
class Timeline {
 public:
  Timeline(const fabric::Link& link, std::size_t devices, std::size_t members,
           std::int64_t iteration = 0)
      : link_(link, static_cast<int>(devices), members > devices),
        devices_(devices),
        clocks_(members),
        milestone_s_(members, DeviceTime{}.milestone_s),
        published_s_(members),
        arrival_s_(members) {
    link_.reset(iteration);
  }

  void set_compute_s(std::span<const double> total_s) {
    for (std::size_t m = 0; m < clocks_.size(); ++m) clocks_[m].set_compute_s(total_s[m]);
  }
  void publish(const ScheduledExchange& exchange);
  void wait(const ScheduledExchange& exchange);

  const fabric::DeviceClock& clock(std::size_t member) const { return clocks_[member]; }
  const std::array<double, 3>& milestone_s(std::size_t member) const {
    return milestone_s_[member];
  }

 private:
  void mark(std::size_t milestone, std::size_t first, std::size_t end) {
    for (std::size_t m = first; m < end; ++m) milestone_s_[m][milestone] = clocks_[m].now_s();
  }
  void send(const ScheduledExchange& exchange, std::span<const double> ready_s,
            std::span<double> arrival_s);

  fabric::LinkModel link_;
  std::size_t devices_;
  std::vector<fabric::DeviceClock> clocks_;
  std::vector<std::array<double, 3>> milestone_s_;
  std::vector<double> published_s_, arrival_s_;
  std::vector<fabric::Message> messages_;
};

/// Members that take part: the terminal only where it sends or collects.
std::size_t participants(const ScheduledExchange& exchange, std::size_t devices) {
  const bool has_terminal = exchange.kind == Kind::scatter || exchange.kind == Kind::collect;
  return devices + (has_terminal ? 1 : 0);
}

void Timeline::publish(const ScheduledExchange& exchange) {
  const std::size_t count = participants(exchange, devices_);
  if (exchange.kind == Kind::collect) mark(kComputed, 0, count);
  if (exchange.is_first_output) mark(kFirstOutput, devices_ - 1, devices_);  // the last stage's
  for (std::size_t m = 0; m < count; ++m) published_s_[m] = clocks_[m].now_s();
  const auto ready_s = std::span(published_s_).first(count);
  const auto arrival_s = std::span(arrival_s_).first(count);
  if (exchange.kind == Kind::all_gather)
    link_.all_gather(ready_s, exchange.bytes, arrival_s);
  else
    send(exchange, ready_s, arrival_s);
}

void Timeline::send(const ScheduledExchange& exchange, std::span<const double> ready_s,
                    std::span<double> arrival_s) {
  const auto terminal = static_cast<int>(devices_);
  messages_.clear();
  for (std::size_t m = 0; m < exchange.bytes.size(); ++m) {
    const auto member = static_cast<int>(m);
    if (exchange.bytes[m] == 0) continue;
    if (exchange.kind == Kind::scatter)
      messages_.push_back({terminal, member, exchange.bytes[m]});
    else if (exchange.kind == Kind::send_receive)
      messages_.push_back({member, exchange.to[m], exchange.bytes[m]});
    else if (const int root = exchange.kind == Kind::collect ? terminal : 0; member != root)
      messages_.push_back({member, root, exchange.bytes[m]});
  }
  link_.send(ready_s, messages_, arrival_s);
}

void Timeline::wait(const ScheduledExchange& exchange) {
  const std::size_t count = participants(exchange, devices_);
  for (std::size_t m = 0; m < count; ++m) clocks_[m].wait_until(arrival_s_[m], published_s_[m]);
  if (exchange.kind == Kind::scatter) mark(kDistributed, 0, count);
}

/// Compute time of every member since the iteration's start.
class ComputeMeter {
 public:
  /// The terminal computes like device 0, without its slowness.
  ComputeMeter(std::span<const double> flops_per_s, std::span<const double> slowness,
               std::size_t members)
      : flops_per_s_(flops_per_s.begin(), flops_per_s.end()),
        slowness_(slowness.begin(), slowness.end()),
        flops_(members, 0),
        total_s_(members, 0.0) {
    flops_per_s_.resize(members, flops_per_s.front());
    slowness_.resize(members, 1.0);
  }

  /// Seconds are taken of the running total, as the fabric does: a sum of rounded parts would
  /// differ in the last bit.
  std::span<const double> add(std::span<const Operations> work) {
    for (std::size_t m = 0; m < work.size(); ++m) {
      flops_[m] += flops(work[m], Convention::paper);
      total_s_[m] = static_cast<double>(flops_[m]) * slowness_[m] / flops_per_s_[m];
    }
    return total_s_;
  }

 private:
  std::vector<double> flops_per_s_, slowness_;
  std::vector<std::int64_t> flops_;
  std::vector<double> total_s_;
};

fabric::Link unlimited(const fabric::Link& link) {
  return {.rates = {Rate::unlimited()}, .latency = Seconds{}, .topology = link.topology};
}

void check(std::span<const Prediction> sequences, std::span<const double> flops_per_s,
           std::span<const double> slowness) {
  TW_REQUIRE(!flops_per_s.empty() && slowness.size() == flops_per_s.size(),
             "{} slowness values for {} device rates", slowness.size(), flops_per_s.size());
  for (const Prediction& sequence : sequences)
    TW_REQUIRE(sequence.tail.size() == flops_per_s.size(), "a schedule of {} devices for {} rates",
               sequence.tail.size(), flops_per_s.size());
}

/// The devices, and the terminal if any sequence has one.
std::size_t members_of(std::span<const Prediction> sequences, std::size_t devices) {
  std::size_t members = devices;
  for (const Prediction& sequence : sequences)
    for (const ScheduledExchange& exchange : sequence.exchanges)
      members = std::max(members, participants(exchange, devices));
  return members;
}

}  // namespace

std::vector<DeviceTime> modelled_time(std::span<const Prediction> sequences,
                                      const fabric::Link& link,
                                      std::span<const double> device_flops_per_s,
                                      std::span<const double> slowness, std::int64_t iteration) {
  check(sequences, device_flops_per_s, slowness);
  const std::size_t devices = device_flops_per_s.size();
  const std::size_t members = members_of(sequences, devices);
  ComputeMeter meter(device_flops_per_s, slowness, members);
  // Beside the link asked for runs an unlimited one: the waiting that remains there is skew.
  Timeline real(link, devices, members, iteration), ideal(unlimited(link), devices, members);
  const auto compute = [&](std::span<const Operations> work) {
    const std::span<const double> total_s = meter.add(work);
    for (Timeline* timeline : {&real, &ideal}) timeline->set_compute_s(total_s);
  };

  for (const Prediction& sequence : sequences) {
    for (const ScheduledExchange& exchange : sequence.exchanges) {
      compute(exchange.before);
      for (Timeline* timeline : {&real, &ideal}) timeline->publish(exchange);
      compute(exchange.window);
      for (Timeline* timeline : {&real, &ideal}) timeline->wait(exchange);
    }
    compute(sequence.tail);
  }

  std::vector<DeviceTime> times;
  for (std::size_t m = 0; m < members; ++m)
    times.push_back({.compute_s = real.clock(m).compute_s(),
                     .wait_s = real.clock(m).wait_s(),
                     .hidden_s = real.clock(m).hidden_s(),
                     .skew_s = ideal.clock(m).wait_s(),
                     .milestone_s = real.milestone_s(m)});
  return times;
}

double nominal_communication_s(const Prediction& prediction, const fabric::Link& link) {
  // Bits per inference rather than exchanges * bits: a strategy's first exchange may differ.
  return link.rates.front().seconds_for(prediction.nominal_bits_per_inference);
}

}  // namespace thinwire::cost
