#include "thinwire/strategy/terminal.hpp"

#include <algorithm>
#include <cstring>

#include "terminal_message.hpp"

namespace thinwire::strategy {

Index TerminalShare::row_count() const {
  Index count = 0;
  for (const Slice& slice : rows) count += slice.size;
  return count;
}

Index answer_width(const model::ModelConfig& config) {
  switch (config.head) {
    case model::HeadKind::language_model:
      return config.vocabulary;
    case model::HeadKind::mean_pooling:
      return config.hidden;
    case model::HeadKind::class_token:
    case model::HeadKind::pooler:
      break;
  }
  return config.labels;
}

TerminalPlan sequence_plan(Layout layout, const model::ModelConfig& config, Collect collect) {
  layout.device = 0;
  TerminalPlan plan{.layout = layout, .shares = {}, .answer = {}};
  for (const Slice& slice : layout.slices) {
    TerminalShare share;
    if (layout.replicated > 0) share.rows.push_back({0, layout.replicated});
    share.rows.push_back(slice);
    plan.shares.push_back(std::move(share));
  }
  if (config.head != model::HeadKind::language_model) {
    plan.shares.front().answer_rows = 1;
  } else if (collect == Collect::last) {
    plan.shares.back().answer_rows = 1;
    plan.answer = {layout.tokens() - 1, 1};
  } else {
    for (std::size_t p = 0; p < plan.shares.size(); ++p)
      plan.shares[p].answer_rows = layout.slices[p].size;
    plan.answer = {0, layout.tokens()};
  }
  return plan;
}

std::int64_t payload_bytes(const TerminalPlan& plan, int but_device, Exchange* exchange) {
  if (exchange == nullptr) return 0;
  std::int64_t bytes = 0;
  for (int device = 0; device < plan.layout.devices(); ++device)
    if (device != but_device) bytes += exchange->payload_bytes(0, device);
  return bytes;
}

std::int64_t message_bytes(const TerminalPlan& plan, int device, Index hidden, Exchange* exchange) {
  const Index rows = plan.shares[static_cast<std::size_t>(device)].row_count();
  if (rows == 0) return 0;
  return kMessageHeaderBytes + rows * hidden * std::int64_t{sizeof(float)} +
         payload_bytes(plan, device, exchange);
}

const TerminalPlan& find_plan(std::span<const TerminalPlan> plans, Index tokens) {
  const auto found = std::ranges::find(
      plans, tokens, [](const TerminalPlan& plan) { return plan.layout.tokens(); });
  TW_REQUIRE(found != plans.end(), "a sequence of {} tokens was not announced", tokens);
  return *found;
}

Terminal::Terminal(const model::Model& model, const DeviceRole& role,
                   std::vector<TerminalPlan> plans, std::unique_ptr<Exchange> exchange)
    : model_(model),
      plans_(std::move(plans)),
      exchange_(std::move(exchange)),
      encoded_(static_cast<std::size_t>(role.devices)),
      addressed_(encoded_.size()) {
  const model::ModelConfig& config = model.config();
  Index tokens = 0, answers = 0;
  std::int64_t payloads = 0, messages = 0;
  for (const TerminalPlan& plan : plans_) {
    if (exchange_) exchange_->begin(plan.layout, {}, nullptr);  // sizes depend on the layout alone
    std::int64_t sum = 0;
    Index rows = 0;
    for (int device = 0; device < role.devices; ++device) {
      sum += message_bytes(plan, device, config.hidden, exchange_.get());
      rows += plan.shares[static_cast<std::size_t>(device)].answer_rows;
    }
    tokens = std::max(tokens, plan.layout.tokens());
    payloads = std::max(payloads, payload_bytes(plan, -1, exchange_.get()));
    messages = std::max(messages, sum);
    answers = std::max(answers, rows);
  }
  x_ = Matrix<float>(tokens, config.hidden, role.memory);
  patches_ = Matrix<float>(config.is_text() ? 0 : tokens, config.patch_inputs(), role.memory);
  payloads_ = Matrix<std::byte>(1, payloads, role.memory);
  messages_ = Matrix<std::byte>(1, messages, role.memory);
  answer_ = Matrix<float>(answers, answer_width(config), role.memory);
}

Output Terminal::forward(const model::ModelInput& input, fabric::Fabric& fabric,
                         Observer* /*observer*/) {
  const TerminalPlan& plan = find_plan(plans_, input.tokens(model_.config()));
  for (Index copy = 0; copy < plan.answers; ++copy) embed(input, plan.layout.tokens(), fabric);
  if (exchange_) encode(plan, input, fabric);
  distribute(plan, fabric);
  return collect(plan, fabric);
}

void Terminal::embed(const model::ModelInput& input, Index tokens, fabric::Fabric& fabric) {
  fabric.compute({"embedding", 0}, [&](Operations& counted) {
    model_.embedding()(input, {0, tokens}, x_.first(tokens), patches_.view(), counted);
  });
}

/// Every device's payload of exchange 0, as the device itself would make it.
void Terminal::encode(const TerminalPlan& plan, const model::ModelInput& input,
                      fabric::Fabric& fabric) {
  std::span<std::byte> free = payloads_.view().elements();
  Layout layout = plan.layout;
  for (layout.device = 0; layout.device < layout.devices(); ++layout.device) {
    exchange_->begin(layout, input, nullptr);
    const Slice own = layout.local();
    fabric::Payload payload = exchange_->encode(0, x_.view().rows(own.begin, own.size), fabric);
    fabric.compute({"distribute", 0},
                   [&](Operations&) { std::ranges::copy(payload.bytes, free.begin()); });
    payload.bytes = free.first(payload.bytes.size());
    free = free.subspan(payload.bytes.size());
    encoded_[static_cast<std::size_t>(layout.device)] = payload;
  }
  exchange_->begin(plan.layout, input, nullptr);  // sizes of all devices are asked for below
}

void Terminal::write_message(const TerminalPlan& plan, int device,
                             std::span<std::byte> message) const {
  if (message.empty()) return;
  const std::int32_t index = device;
  std::byte* to = message.data();
  const auto append = [&to](std::span<const std::byte> bytes) {
    to = std::ranges::copy(bytes, to).out;
  };
  append(std::as_bytes(std::span(&index, 1)));
  for (const Slice& rows : plan.shares[static_cast<std::size_t>(device)].rows)
    append(std::as_bytes(x_.view().rows(rows.begin, rows.size).elements()));
  if (!exchange_) return;
  for (int peer = 0; peer < plan.layout.devices(); ++peer)
    if (peer != device) append(encoded_[static_cast<std::size_t>(peer)].bytes);
}

void Terminal::distribute(const TerminalPlan& plan, fabric::Fabric& fabric) {
  fabric.compute({"distribute", 0}, [&](Operations&) {
    std::span<std::byte> free = messages_.view().elements();
    for (int device = 0; device < plan.layout.devices(); ++device) {
      const auto size = static_cast<std::size_t>(
          message_bytes(plan, device, model_.config().hidden, exchange_.get()));
      write_message(plan, device, free.first(size));
      fabric::Payload& payload = addressed_[static_cast<std::size_t>(device)];
      payload = {free.first(size), size == 0 ? 0 : 8 * kMessageHeaderBytes, 0};
      for (int peer = 0; exchange_ && peer < plan.layout.devices(); ++peer) {
        if (peer == device) continue;
        payload.header_bits += encoded_[static_cast<std::size_t>(peer)].header_bits;
        payload.padding_bits += encoded_[static_cast<std::size_t>(peer)].padding_bits;
      }
      free = free.subspan(size);
    }
  });
  fabric.wait(fabric.scatter(addressed_, {}));
  fabric.mark(fabric::Milestone::distributed);
}

Output Terminal::collect(const TerminalPlan& plan, fabric::Fabric& fabric) {
  fabric.mark(fabric::Milestone::computed);
  fabric.wait(
      fabric.gather(fabric.devices(), {}, std::as_writable_bytes(answer_.view().elements())));
  const Index rows = plan.answer.size > 0 ? plan.answer.size : 1;
  return {answer_.first(rows), plan.answer};
}

TerminalLink::TerminalLink(const model::Model& model, const DeviceRole& role,
                           std::vector<TerminalPlan> plans, Exchange* exchange)
    : hidden_(model.config().hidden), device_(role.device), plans_(std::move(plans)) {
  std::int64_t bytes = 0;
  for (TerminalPlan& plan : plans_) {
    plan.layout.device = device_;  // for which the exchange has room
    if (exchange != nullptr) exchange->begin(plan.layout, {}, nullptr);
    bytes = std::max(bytes, message_bytes(plan, device_, hidden_, exchange));
  }
  message_ = Matrix<std::byte>(1, bytes, role.memory);
}

MatrixView<const float> TerminalLink::receive(Index tokens, Exchange* exchange,
                                              fabric::Fabric& fabric) {
  const TerminalPlan& plan = find_plan(plans_, tokens);
  const std::int64_t bytes = message_bytes(plan, device_, hidden_, exchange);
  const auto message = message_.view().elements().first(static_cast<std::size_t>(bytes));
  fabric.wait(fabric.scatter({}, message));
  fabric.mark(fabric::Milestone::distributed);
  if (bytes == 0) return {};
  std::int32_t index = -1;
  std::memcpy(&index, message.data(), sizeof index);
  TW_REQUIRE(index == device_, "device {} got the message of device {}", device_, index);
  if (exchange != nullptr)
    fabric.compute({"distribute", 0}, [&](Operations&) { unpack(plan, *exchange); });
  const auto* values = reinterpret_cast<const float*>(message.data() + kMessageHeaderBytes);
  return {values, plan.shares[static_cast<std::size_t>(device_)].row_count(), hidden_};
}

/// The peers' payloads, around the place of the own one.
void TerminalLink::unpack(const TerminalPlan& plan, Exchange& exchange) const {
  const Index rows = plan.shares[static_cast<std::size_t>(device_)].row_count();
  const auto begin =
      static_cast<std::size_t>(kMessageHeaderBytes + rows * hidden_ * Index{sizeof(float)});
  std::span<const std::byte> from = message_.view().elements().subspan(begin);
  std::span<std::byte> to = exchange.receive_buffer(0);
  for (int peer = 0; peer < plan.layout.devices(); ++peer) {
    const auto size = static_cast<std::size_t>(exchange.payload_bytes(0, peer));
    if (peer != device_) {
      std::ranges::copy(from.first(size), to.begin());
      from = from.subspan(size);
    }
    to = to.subspan(size);
  }
}

Output TerminalLink::send(Index tokens, const Output& output, fabric::Fabric& fabric) {
  const TerminalPlan& plan = find_plan(plans_, tokens);
  const Index rows = plan.shares[static_cast<std::size_t>(device_)].answer_rows;
  TW_REQUIRE(rows <= output.values.rows(), "{} rows of an answer of {} are to be sent", rows,
             output.values.rows());
  const auto answer = output.values.rows(output.values.rows() - rows, rows);
  fabric.mark(fabric::Milestone::computed);
  fabric.wait(fabric.gather(
      fabric.devices(),
      {.bytes = rows > 0 ? std::as_bytes(answer.elements()) : std::span<const std::byte>{}}, {}));
  return {};
}

}  // namespace thinwire::strategy
