#include <utility>

#include "block_split.hpp"
#include "nominal.hpp"
#include "schedule.hpp"
#include "terminal.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/cost/memory.hpp"
#include "thinwire/cost/work.hpp"

namespace thinwire::cost {
namespace {

/// Blocks of every stage.
std::vector<Slice> make_stages(const Workload& workload) {
  require_input(workload.devices <= workload.model.layers,
                "devices={}: strategy pipeline splits the blocks, and model {} has {}",
                workload.devices, workload.model.name, workload.model.layers);
  require_input(workload.micro_batches >= 1, "micro-batches={}: there is at least one input",
                workload.micro_batches);
  return partition(workload.model.layers, workload.devices, PartitionPolicy::balanced);
}

Operations block_work(const model::ModelConfig& model, Index rows) {
  return project_local_work(model, rows) + attention_work(model, model.heads, rows, rows) +
         attention_output_work(model, rows) + finish_work(model, rows);
}

/// What the last stage sends to a terminal: the answers to all inputs.
std::int64_t last_stage_answer_bytes(const Workload& workload) {
  const AnswerPlace place{.device = 0, .head_rows = {workload.tokens}};
  return workload.micro_batches * answer_bytes(workload, place).front();
}

/// In step t stage s works on input t - s, then all hand over in lock step.
class PipelineSchedule {
 public:
  PipelineSchedule(const Workload& workload, const std::vector<Slice>& stages)
      : workload_(workload),
        model_(workload.model),
        stages_(stages),
        schedule_(workload.devices, workload.has_terminal) {}

  Prediction run() && {
    if (workload_.has_terminal) embed_at_terminal();
    const int steps = workload_.micro_batches + schedule_.devices() - 1;
    for (int step = 0; step < steps; ++step) {
      run_step(step);
      // One device hands nothing over, but its first output is a moment of its own.
      const bool is_moment = schedule_.devices() > 1 || step == 0;
      if (is_moment && step + 1 < steps) hand_over(step);
    }
    if (workload_.has_terminal) collect_answers();
    return std::move(schedule_).finish();
  }

 private:
  bool is_last(int stage) const { return stage + 1 == schedule_.devices(); }
  bool works(int stage, int step) const {
    return step >= stage && step - stage < workload_.micro_batches;
  }

  void embed_at_terminal() {
    std::vector<compress::FrameSize> messages(stages_.size());
    for (int input = 0; input < workload_.micro_batches; ++input) {
      schedule_.on_terminal(embedding_work(model_, workload_.tokens, 1));
      messages.front() = messages.front() + rows_payload(workload_.tokens, model_.hidden);
    }
    distribute(messages, schedule_);
  }

  void run_step(int step) {
    schedule_.on_devices([&](int stage) {
      Operations work;
      if (!works(stage, step)) return work;
      const Index rows = workload_.tokens;
      if (stage == 0 && !workload_.has_terminal) work += embedding_work(model_, rows, 1);
      for (Index block = 0; block < stages_[static_cast<std::size_t>(stage)].size; ++block)
        work += block_work(model_, rows);
      if (is_last(stage)) work += final_rows_work(model_, rows) + classifier_work(model_);
      return work;
    });
  }

  void hand_over(int step) {
    ScheduledExchange exchange{.kind = ScheduledExchange::Kind::send_receive};
    for (int stage = 0; stage < schedule_.devices(); ++stage) {
      const bool sends = works(stage, step) && !is_last(stage);
      exchange.bytes.push_back(sends ? kBytesPerValue * workload_.tokens * model_.hidden : 0);
      exchange.to.push_back(sends ? stage + 1 : -1);
    }
    exchange.is_first_output = step + 1 == schedule_.devices();
    schedule_.publish(std::move(exchange));
    schedule_.wait();
  }

  void collect_answers() {
    std::vector<std::int64_t> bytes(stages_.size(), 0);
    bytes.back() = last_stage_answer_bytes(workload_);
    collect(bytes, schedule_);
  }

  const Workload& workload_;
  const model::ModelConfig& model_;
  const std::vector<Slice>& stages_;
  Schedule schedule_;
};

/// Where a stage stands, for its memory.
struct Stage {
  Index blocks = 0;
  bool is_first = false, is_last = false;
};

std::int64_t stage_weights_bytes(const Workload& workload, const Stage& stage) {
  Parameters held = stage.blocks * block_parameters(workload.model);
  if (stage.is_first) held = held + embedding_parameters(workload.model, workload.tokens);
  if (stage.is_last) held = held + head_parameters(workload.model);
  return held.bytes(workload.dtype);
}

std::int64_t stage_activations_bytes(const Workload& workload, const Stage& stage) {
  const model::ModelConfig& model = workload.model;
  const Index n = workload.tokens, hidden = model.hidden;
  // What arrives must not overwrite what is being sent.
  const Index buffers = stage.is_first || stage.is_last ? 1 : 2;

  Index values = 0;
  values += buffers * n * hidden;  // x [N, D]
  values += 3 * n * hidden;        // normed, query, attended [N, D]
  values += n * model.ffn;         // ffn [N, F]
  values += 2 * n;                 // log counts, positions [N]
  values += kv_context_values(n, hidden);
  values += attention_scratch_values(n, n, model.head_dim(), workload.threads);
  if (stage.is_first && !model.is_text()) values += n * model.patch_inputs();  // patches
  if (stage.is_last) values += whole_head_values(model, n);
  const bool keeps_answers = stage.is_last && workload.has_terminal;
  return kBytesPerValue * values + (keeps_answers ? last_stage_answer_bytes(workload) : 0);
}

}  // namespace

Prediction predict_pipeline(const Workload& workload) {
  const std::vector<Slice> stages = make_stages(workload);
  Prediction prediction = PipelineSchedule(workload, stages).run();
  for (int p = 0; p < workload.devices; ++p) {
    const Stage stage{.blocks = stages[static_cast<std::size_t>(p)].size,
                      .is_first = p == 0,
                      .is_last = p + 1 == workload.devices};
    prediction.memory.push_back({.weights = stage_weights_bytes(workload, stage),
                                 .activations = stage_activations_bytes(workload, stage)});
  }
  prediction.inputs = workload.micro_batches;
  add_exchange_count(workload.devices - 1, prediction);
  return prediction;
}

}  // namespace thinwire::cost
