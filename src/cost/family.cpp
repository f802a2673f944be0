#include "thinwire/cost/family.hpp"

#include <utility>

#include "schedule.hpp"
#include "terminal.hpp"
#include "thinwire/cost/memory.hpp"
#include "thinwire/cost/work.hpp"

namespace thinwire::cost {
namespace {

using compress::Published;

/// Work and messages of one pass, in the order of METHODS 3.3.
class FamilySchedule {
 public:
  /// `method` is null for one device.
  FamilySchedule(const Workload& workload, const FamilyMethod* method,
                 const std::vector<Share>& shares)
      : workload_(workload),
        model_(workload.model),
        method_(method),
        shares_(shares),
        overlaps_(method != nullptr && workload.overlap.value_or(method->overlaps_by_default())),
        schedule_(static_cast<int>(shares.size()), workload.has_terminal) {}

  Prediction run() && {
    if (workload_.has_terminal)
      embed_at_terminal();
    else
      embed();
    Operations middle;
    for (Index layer = 0; layer < model_.layers; ++layer) {
      const Operations before = schedule_.work_of_devices();
      run_block(layer);
      if (layer == model_.layers / 2) middle = schedule_.work_of_devices() - before;
    }
    run_head();
    Prediction prediction = std::move(schedule_).finish();
    prediction.block_operations = middle;
    return prediction;
  }

 private:
  const Share& share(int device) const { return shares_[static_cast<std::size_t>(device)]; }

  /// Every device its own rows, then exchange 0.
  void embed() {
    schedule_.on_devices([&](int p) {
      const bool has_class_token = p == 0 || share(p).replicated > 0;
      return embedding_work(model_, share(p).local(), has_class_token ? 1 : 0);
    });
    publish(0);
  }

  /// The terminal does all of that and sends each device its rows and its peers' payloads.
  void embed_at_terminal() {
    schedule_.on_terminal(embedding_work(model_, workload_.tokens, 1));
    compress::FrameSize published;
    for (int p = 0; method_ != nullptr && p < schedule_.devices(); ++p) {
      schedule_.on_terminal(method_->encode(0, share(p)));
      published = published + method_->payload(0, share(p));
    }
    std::vector<compress::FrameSize> messages;
    for (const Share& mine : shares_) {
      messages.push_back(rows_payload(mine.local(), model_.hidden) + published);
      if (method_ != nullptr) messages.back() = messages.back() - method_->payload(0, mine);
    }
    distribute(messages, schedule_);
  }

  void publish(Index exchange) {
    if (method_ == nullptr) return;
    schedule_.on_devices([&](int p) { return method_->encode(exchange, share(p)); });
    std::vector<compress::FrameSize> payloads;
    for (const Share& each : shares_) payloads.push_back(method_->payload(exchange, each));
    schedule_.publish(all_gather_of(payloads));
    if (!overlaps_) schedule_.wait();
  }

  void run_block(Index layer) {
    schedule_.on_devices([&](int p) { return project_local_work(model_, share(p).local()); });
    if (method_ != nullptr) {
      const bool was_distributed = layer == 0 && workload_.has_terminal;
      if (overlaps_ && !was_distributed) schedule_.wait();
      schedule_.on_devices([&](int p) { return method_->decode(layer, share(p)); });
    }
    schedule_.on_devices([&](int p) {
      const Share& mine = share(p);
      const Index columns = method_ != nullptr ? method_->columns(mine) : mine.tokens();
      return attention_work(model_, model_.heads, mine.local(), columns) +
             attention_output_work(model_, mine.local());
    });
    const bool publishes = method_ != nullptr && layer + 1 < model_.layers;
    const bool publishes_early = publishes && method_->published() != Published::block_output;
    if (publishes_early) publish(layer + 1);
    schedule_.on_devices([&](int p) { return finish_work(model_, share(p).local()); });
    if (publishes && !publishes_early) publish(layer + 1);
  }

  void run_head() {
    const bool pools = model_.head == model::HeadKind::mean_pooling;
    if (schedule_.devices() > 1 && (pools || share(0).replicated > 0)) gather_row();
    schedule_.on_devices([&](int p) { return final_rows_work(model_, share(p).local()); });
    schedule_.on_device(0, classifier_work(model_));
    if (!workload_.has_terminal) return;
    AnswerPlace place;
    for (const Share& each : shares_) place.head_rows.push_back(each.local());
    collect(answer_bytes(workload_, place), schedule_);
  }

  /// Partial sums of mean pooling, or copies of the class token, to device 0.
  void gather_row() {
    ScheduledExchange exchange{.kind = ScheduledExchange::Kind::gather};
    exchange.bytes.assign(shares_.size(), kBytesPerValue * model_.hidden);
    exchange.bytes.front() = 0;  // what device 0 has does not leave it
    schedule_.publish(std::move(exchange));
    schedule_.wait();
  }

  const Workload& workload_;
  const model::ModelConfig& model_;
  const FamilyMethod* method_;
  const std::vector<Share>& shares_;
  bool overlaps_;
  Schedule schedule_;
};

}  // namespace

std::vector<Share> make_shares(const Workload& workload, Index replicated) {
  const Index owned = workload.tokens - replicated;
  std::vector<Share> shares;
  for (const Slice& slice :
       partition(owned, workload.devices, workload.partition, workload.weights))
    shares.push_back({.replicated = replicated, .own = slice.size, .remote = owned - slice.size});
  return shares;
}

Prediction predict_family(const Workload& workload, const FamilyMethod* method,
                          const std::vector<Share>& shares) {
  Prediction prediction = FamilySchedule(workload, method, shares).run();
  const Memory tables = method != nullptr ? method->tables() : Memory{};
  for (int p = 0; p < workload.devices; ++p)
    prediction.memory.push_back(
        {.weights = weights_bytes(workload.model, workload.tokens, workload.dtype),
         .codebooks = tables.codebooks,
         .buffers = tables.buffers,
         .activations =
             family_activations_bytes(workload, method, shares[static_cast<std::size_t>(p)], p)});
  if (method != nullptr) prediction.calibration = method->calibration();
  return prediction;
}

}  // namespace thinwire::cost
