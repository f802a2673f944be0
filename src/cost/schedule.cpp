#include "schedule.hpp"

#include <utility>

#include "thinwire/base/error.hpp"

namespace thinwire::cost {
namespace {

using Kind = ScheduledExchange::Kind;

std::int64_t at_or_zero(const std::vector<std::int64_t>& bits, std::size_t index) {
  return bits.empty() ? 0 : bits[index];
}

/// Adds what the devices send; what a terminal scatters is its own.
void add_traffic(const ScheduledExchange& exchange, Prediction& prediction) {
  if (exchange.kind == Kind::scatter) {
    for (const std::int64_t bytes : exchange.bytes) prediction.terminal_wire_bytes += bytes;
    return;
  }
  for (std::size_t p = 0; p < prediction.wire_bytes.size(); ++p) {
    const std::int64_t header = at_or_zero(exchange.header_bits, p);
    const std::int64_t padding = at_or_zero(exchange.padding_bits, p);
    prediction.header_bits[p] += header;
    prediction.padding_bits[p] += padding;
    prediction.payload_bits[p] += 8 * exchange.bytes[p] - header - padding;
    prediction.wire_bytes[p] += exchange.bytes[p];
  }
}

void add_work(const std::vector<Operations>& members, Prediction& prediction) {
  const std::size_t devices = prediction.device_operations.size();
  for (std::size_t p = 0; p < devices; ++p) prediction.device_operations[p] += members[p];
  if (members.size() > devices) prediction.terminal_operations += members.back();
}

}  // namespace

Schedule::Schedule(int devices, bool has_terminal)
    : devices_(devices), since_(static_cast<std::size_t>(devices) + (has_terminal ? 1 : 0)) {}

void Schedule::on_device(int device, const Operations& work) {
  since_[static_cast<std::size_t>(device)] += work;
  work_of_devices_ += work;
}

void Schedule::on_terminal(const Operations& work) {
  TW_REQUIRE(has_terminal(), "work for a terminal that is not there");
  since_.back() += work;
}

void Schedule::publish(ScheduledExchange exchange) {
  exchange.before = std::exchange(since_, std::vector<Operations>(since_.size()));
  exchanges_.push_back(std::move(exchange));
}

void Schedule::wait() {
  TW_REQUIRE(!exchanges_.empty() && exchanges_.back().window.empty(), "nothing was published");
  exchanges_.back().window = std::exchange(since_, std::vector<Operations>(since_.size()));
}

Prediction Schedule::finish() && {
  const auto devices = static_cast<std::size_t>(devices_);
  Prediction prediction;
  prediction.device_operations.resize(devices);
  for (auto* traffic : {&prediction.payload_bits, &prediction.header_bits, &prediction.padding_bits,
                        &prediction.wire_bytes})
    traffic->assign(devices, 0);
  for (const ScheduledExchange& exchange : exchanges_) {
    add_work(exchange.before, prediction);
    add_work(exchange.window, prediction);
    add_traffic(exchange, prediction);
  }
  add_work(since_, prediction);
  prediction.exchanges = std::move(exchanges_);
  prediction.tail = std::move(since_);
  prediction.tail.resize(devices);  // the terminal ends with its last collective
  return prediction;
}

ScheduledExchange all_gather_of(std::span<const compress::FrameSize> payloads) {
  ScheduledExchange exchange{.kind = Kind::all_gather};
  for (const compress::FrameSize& payload : payloads) {
    exchange.bytes.push_back(payload.bytes());
    exchange.header_bits.push_back(payload.header_bits);
    exchange.padding_bits.push_back(payload.padding_bits);
  }
  return exchange;
}

compress::FrameSize rows_payload(Index rows, Index width, compress::RowFormat format) {
  constexpr std::int64_t kBitsPerByte = 8;
  return {.payload_bits = kBitsPerByte * rows * compress::row_bytes(format, width)};
}

compress::FrameSize operator+(const compress::FrameSize& a, const compress::FrameSize& b) {
  return {.payload_bits = a.payload_bits + b.payload_bits,
          .header_bits = a.header_bits + b.header_bits,
          .padding_bits = a.padding_bits + b.padding_bits};
}

compress::FrameSize operator-(const compress::FrameSize& whole, const compress::FrameSize& part) {
  return {.payload_bits = whole.payload_bits - part.payload_bits,
          .header_bits = whole.header_bits - part.header_bits,
          .padding_bits = whole.padding_bits - part.padding_bits};
}

}  // namespace thinwire::cost
