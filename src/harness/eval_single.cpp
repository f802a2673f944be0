#include "thinwire/harness/eval_single.hpp"

#include <utility>

#include "thinwire/harness/eval_data.hpp"

namespace thinwire::harness {
namespace {

std::int64_t bytes_of(const SingleAnswer& answer) {
  std::size_t bytes = sizeof(answer);
  for (const SequenceOutputs& sequence : answer.outputs) {
    bytes += sizeof(sequence) + sequence.values.bytes();
    for (const Matrix<float>& hidden : sequence.hidden) bytes += sizeof(hidden) + hidden.bytes();
  }
  return static_cast<std::int64_t>(bytes);
}

bool is_enough(const SingleAnswer& answer, bool wants_hidden) {
  return !wants_hidden || !answer.outputs.front().hidden.empty();
}

}  // namespace

void SingleDevice::begin(const model::Model& model, const Point& point, std::vector<Index> lengths,
                         std::int64_t most_bytes, fabric::Watchdog& watchdog) {
  most_bytes_ = most_bytes;
  const std::string key = fmt::format("{}|{}|{}|{}", model.fingerprint(), point.data->fingerprint,
                                      point.spec.tokens, point.spec.threads);
  if (key != key_) {
    kept_.clear();
    kept_bytes_ = 0;
    key_ = key;
  }
  model_ = &model;
  is_scored_ = !point.data->metrics.empty();
  single_.reset();
  fabric_.reset();
  alone_ = fabric::make_solo_transport();
  fabric_ = fabric::make_fabric(*alone_, {.watchdog = &watchdog});
  if (!lengths.empty())
    single_ = strategy::make_strategy(
        "single", model, {}, {.threads = point.spec.threads, .lengths = std::move(lengths)});
}

const SingleAnswer& SingleDevice::answer(Index number, const eval::Sample& sample,
                                         bool wants_hidden) {
  const auto known = kept_.find(number);
  if (known != kept_.end() && is_enough(known->second, wants_hidden)) return known->second;
  latest_ = work_out(sample, wants_hidden);
  const std::int64_t bytes = bytes_of(latest_);
  if (known != kept_.end() || kept_bytes_ + bytes > most_bytes_) return latest_;
  kept_bytes_ += bytes;
  return kept_.emplace(number, std::move(latest_)).first->second;
}

SingleAnswer SingleDevice::work_out(const eval::Sample& sample, bool wants_hidden) {
  SingleAnswer answer;
  answer.outputs = make_room(sample, model_->config(), wants_hidden);
  for (std::size_t s = 0; s < sample.sequences.size(); ++s) {
    const SequenceTask task{&sample.sequences[s], &answer.outputs[s]};
    fabric_->begin_iteration();
    run_tasks(*single_, *fabric_, std::span(&task, 1));
    fabric_->end_iteration();
  }
  if (is_scored_)
    answer.score = eval::score_sample(sample, model_->config(), views_of(answer.outputs));
  return answer;
}

}  // namespace thinwire::harness
