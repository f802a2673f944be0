#include <utility>

#include "block_split.hpp"
#include "nominal.hpp"
#include "schedule.hpp"
#include "terminal.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/cost/family.hpp"
#include "thinwire/cost/memory.hpp"
#include "thinwire/cost/work.hpp"

namespace thinwire::cost {
namespace {

using model::HeadKind;

/// A device's part of every block.
struct Part {
  Index heads = 0, ffn_columns = 0;
  Index head_rows = 0;  ///< rows of the LM head
};

std::vector<Part> make_parts(const Workload& workload) {
  const model::ModelConfig& model = workload.model;
  require_input(workload.devices <= model.heads && workload.devices <= model.ffn,
                "devices={}: strategy tensor splits heads and feed-forward columns, and model {} "
                "has {} heads and {} columns",
                workload.devices, model.name, model.heads, model.ffn);
  const auto balanced = [&](Index count) {
    return partition(count, workload.devices, PartitionPolicy::balanced);
  };
  const std::vector<Slice> heads = balanced(model.heads), columns = balanced(model.ffn);
  const std::vector<Slice> rows =
      partition(workload.tokens, workload.devices, workload.partition, workload.weights);
  std::vector<Part> parts;
  for (std::size_t p = 0; p < heads.size(); ++p)
    parts.push_back({heads[p].size, columns[p].size, rows[p].size});
  return parts;
}

class TensorSchedule {
 public:
  TensorSchedule(const Workload& workload, const std::vector<Part>& parts)
      : workload_(workload),
        model_(workload.model),
        parts_(parts),
        chunks_(partition(workload.tokens * model_.hidden, workload.devices,
                          PartitionPolicy::balanced)),
        schedule_(workload.devices, workload.has_terminal) {}

  Prediction run() && {
    const Operations embedding = embedding_work(model_, workload_.tokens, 1);
    if (workload_.has_terminal) {
      schedule_.on_terminal(embedding);
      distribute(std::vector(parts_.size(), rows_payload(workload_.tokens, model_.hidden)),
                 schedule_);
    } else {
      on_all(embedding);
    }
    for (Index layer = 0; layer < model_.layers; ++layer) run_block();
    run_head();
    return std::move(schedule_).finish();
  }

 private:
  const Part& part(int device) const { return parts_[static_cast<std::size_t>(device)]; }
  void on_all(const Operations& work) {
    schedule_.on_devices([&](int /*p*/) { return work; });
  }

  void run_block() {
    const Index rows = workload_.tokens, hidden = model_.hidden;
    const bool is_pre_norm = model_.norm_order() == model::NormOrder::pre;
    const Behind behind_qkv = model_.qkv_bias ? Behind::bias : Behind::nothing;
    const Operations norm2 = layer_norm_work(rows, hidden);

    on_all(kv_input_work(model_, rows));
    schedule_.on_devices([&](int p) {
      const Index width = part(p).heads * model_.head_dim();
      return linear_work(rows, hidden, 3 * width, behind_qkv) +
             attention_work(model_, part(p).heads, rows, rows) +
             linear_work(rows, width, hidden, Behind::nothing);  // O
    });
    all_reduce();
    on_all(bias_residual_work(rows, hidden) + attention_norm_work(model_, rows));
    if (is_pre_norm) on_all(norm2);
    schedule_.on_devices([&](int p) {
      const Index columns = part(p).ffn_columns;
      return linear_work(rows, hidden, columns, Behind::bias_gelu) +
             linear_work(rows, columns, hidden, Behind::nothing);
    });
    all_reduce();
    on_all(bias_residual_work(rows, hidden));
    if (!is_pre_norm) on_all(norm2);
  }

  /// Ring reduce-scatter, then all-gather: in step s device p passes on the chunk that it has just
  /// completed or received, to device p + 1.
  void all_reduce() {
    const int devices = schedule_.devices();
    for (const int first : {0, 1})
      for (int step = 0; step + 1 < devices; ++step) {
        ScheduledExchange exchange{.kind = ScheduledExchange::Kind::send_receive};
        for (int p = 0; p < devices; ++p) {
          const int chunk = (p + first - step + devices) % devices;
          exchange.bytes.push_back(kBytesPerValue * chunks_[static_cast<std::size_t>(chunk)].size);
          exchange.to.push_back((p + 1) % devices);
        }
        schedule_.publish(std::move(exchange));
        schedule_.wait();
      }
  }

  void run_head() {
    // Every device has every row: a mean is taken where it is wanted.
    on_all(model_.norm_order() == model::NormOrder::pre
               ? layer_norm_work(workload_.tokens, model_.hidden)
               : Operations{});
    if (model_.head == HeadKind::language_model)
      schedule_.on_devices([&](int p) {
        return linear_work(part(p).head_rows, model_.hidden, model_.vocabulary, Behind::nothing);
      });
    schedule_.on_device(0, classifier_work(model_));
    if (!workload_.has_terminal) return;
    AnswerPlace place;
    for (const Part& each : parts_) place.head_rows.push_back(each.head_rows);
    collect(answer_bytes(workload_, place), schedule_);
  }

  const Workload& workload_;
  const model::ModelConfig& model_;
  const std::vector<Part>& parts_;
  std::vector<Slice> chunks_;
  Schedule schedule_;
};

std::int64_t part_weights_bytes(const Workload& workload, const Part& part) {
  const model::ModelConfig& model = workload.model;
  const Parameters held =
      embedding_parameters(model, workload.tokens) +
      model.layers * block_share_parameters(model, part.heads, part.ffn_columns) +
      head_parameters(model);
  return held.bytes(workload.dtype);
}

std::int64_t part_activations_bytes(const Workload& workload, const Part& part, int device) {
  const model::ModelConfig& model = workload.model;
  const Index n = workload.tokens, hidden = model.hidden;
  const Index width = part.heads * model.head_dim();
  const bool is_language_model = model.head == HeadKind::language_model;

  Index values = 0;
  values += 3 * n * hidden;                                  // x, normed, partial [N, D]
  values += 2 * n * width;                                   // query, attended [N, width]
  values += n * part.ffn_columns;                            // ffn [N, F / P]
  values += model.is_text() ? 0 : n * model.patch_inputs();  // patches [N, patch_inputs]
  values += 2 * n;                                           // log counts, positions [N]
  values += kv_context_values(n, width);
  values += attention_scratch_values(n, n, model.head_dim(), workload.threads);
  values += (n * hidden + workload.devices - 1) / workload.devices;  // a chunk as it arrives
  if (is_language_model || device == 0)
    values += whole_head_values(model, is_language_model ? part.head_rows : n);
  return kBytesPerValue * values;
}

}  // namespace

Prediction predict_tensor(const Workload& workload) {
  if (workload.devices == 1) {
    const std::vector<Share> shares = make_shares(workload);
    Prediction prediction = predict_family(workload, nullptr, shares);
    add_exchange_count(0, prediction);
    return prediction;
  }
  const std::vector<Part> parts = make_parts(workload);
  Prediction prediction = TensorSchedule(workload, parts).run();
  for (int p = 0; p < workload.devices; ++p) {
    const Part& part = parts[static_cast<std::size_t>(p)];
    prediction.memory.push_back({.weights = part_weights_bytes(workload, part),
                                 .activations = part_activations_bytes(workload, part, p)});
  }
  add_exchange_count(2 * workload.model.layers, prediction);
  return prediction;
}

}  // namespace thinwire::cost
