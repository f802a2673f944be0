#include "terminal.hpp"

#include <utility>

#include "thinwire/cost/memory.hpp"

namespace thinwire::cost {
namespace {

constexpr std::int64_t kIndexHeaderBits = 32;

}  // namespace

void distribute(std::span<const compress::FrameSize> messages, Schedule& schedule) {
  std::vector<compress::FrameSize> indexed;
  for (const compress::FrameSize& message : messages) {
    const bool is_sent = message.payload_bits > 0;
    indexed.push_back(message + compress::FrameSize{.header_bits = is_sent ? kIndexHeaderBits : 0});
  }
  indexed.emplace_back();  // to the terminal itself
  ScheduledExchange exchange = all_gather_of(indexed);
  exchange.kind = ScheduledExchange::Kind::scatter;
  schedule.publish(std::move(exchange));
  schedule.wait();
}

void collect(std::span<const std::int64_t> answers, Schedule& schedule) {
  ScheduledExchange exchange{.kind = ScheduledExchange::Kind::collect};
  exchange.bytes.assign(answers.begin(), answers.end());
  exchange.bytes.push_back(0);  // the terminal's own
  schedule.publish(std::move(exchange));
  schedule.wait();
}

void add_message_memory(Prediction& prediction) {
  const ScheduledExchange& scatter = prediction.exchanges.front();
  for (std::size_t p = 0; p < prediction.memory.size(); ++p)
    prediction.memory[p].activations += scatter.bytes[p];
}

std::vector<std::int64_t> answer_bytes(const Workload& workload, const AnswerPlace& place) {
  const model::ModelConfig& model = workload.model;
  std::vector<std::int64_t> bytes(place.head_rows.size(), 0);
  if (model.head != model::HeadKind::language_model) {
    const bool is_pooled = model.head == model::HeadKind::mean_pooling;
    bytes[static_cast<std::size_t>(place.device)] =
        kBytesPerValue * (is_pooled ? model.hidden : model.labels);
    return bytes;
  }
  const std::int64_t row_bytes = kBytesPerValue * model.vocabulary;
  for (std::size_t p = 0; p < bytes.size(); ++p)
    if (workload.collects_all) bytes[p] = place.head_rows[p] * row_bytes;
  if (!workload.collects_all) bytes.back() = row_bytes;  // the last row's, on the last device
  return bytes;
}

}  // namespace thinwire::cost
