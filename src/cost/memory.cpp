#include "thinwire/cost/memory.hpp"

#include <algorithm>

namespace thinwire::cost {
namespace {

constexpr std::int64_t kBytesPerValue = 4;  // fp32 and int32 alike

/// Scores that ops::Attention keeps for one thread, unless a single row of columns is longer.
constexpr Index kScoresPerThread = 131072;

Index embedding_parameters(const model::ModelConfig& model, Index tokens) {
  const Index hidden = model.hidden;
  // Random weights may be asked for more tokens than the preset's position table has.
  const Index positions = std::max(model.max_tokens, tokens) * hidden;
  if (!model.is_text())
    return positions + hidden                         // class token
           + model.patch_inputs() * hidden + hidden;  // patch projection
  const Index norm = model.family == model::Family::bert ? 2 * hidden : 0;
  return positions + (model.vocabulary + model.token_types) * hidden + norm;
}

Index block_parameters(const model::ModelConfig& model) {
  const Index hidden = model.hidden, ffn = model.ffn;
  return 4 * hidden * hidden + hidden                                // Q, K, V, O
         + (model.qkv_bias ? 3 * hidden : 0) + (hidden * ffn + ffn)  // feed-forward, up
         + (ffn * hidden + hidden)                                   // feed-forward, down
         + 4 * hidden;                                               // LN1, LN2
}

Index head_parameters(const model::ModelConfig& model) {
  const Index hidden = model.hidden;
  const Index norm = model.norm_order() == model::NormOrder::pre ? 2 * hidden : 0;
  const Index classifier = hidden * model.labels + model.labels;
  switch (model.head) {
    case model::HeadKind::class_token:
      return norm + classifier;
    case model::HeadKind::pooler:
      return norm + hidden * hidden + hidden + classifier;
    case model::HeadKind::mean_pooling:
      return norm;
    case model::HeadKind::language_model:
      return norm + model.vocabulary * hidden;
  }
  return 0;
}

/// Values of the head's results on `device`.
Index head_values(const Workload& workload, const Share& share, int device) {
  const model::ModelConfig& model = workload.model;
  const bool is_first = device == 0, has_peers = workload.devices > 1;
  switch (model.head) {
    case model::HeadKind::class_token:
      return is_first ? model.labels : 0;  // logits [1, labels]
    case model::HeadKind::pooler:
      return is_first ? model.hidden + model.labels : 0;  // pooled [1, D], logits [1, labels]
    case model::HeadKind::mean_pooling:                   // sum [1, D], all sums [P, D]
      return model.hidden * (is_first && has_peers ? 1 + workload.devices : 1);
    case model::HeadKind::language_model:
      return share.local * model.vocabulary;  // logits [n, vocabulary]
  }
  return 0;
}

}  // namespace

std::int64_t weights_bytes(const model::ModelConfig& model, Index tokens) {
  return kBytesPerValue * (embedding_parameters(model, tokens) +
                           model.layers * block_parameters(model) + head_parameters(model));
}

std::int64_t activations_bytes(const Workload& workload, const Share& share, int device) {
  const model::ModelConfig& model = workload.model;
  const Index n = share.local, c = share.columns, hidden = model.hidden;
  const bool is_pre_norm = model.norm_order() == model::NormOrder::pre;
  // Remote rows are normalised beside the local ones before K and V are projected from them.
  const Index remote_normed_rows = is_pre_norm ? share.remote() : 0;
  const Index described = std::max(share.received, share.repeated);
  const Index score_rows = std::max<Index>(1, std::min(n, kScoresPerThread / c));

  Index values = 0;
  values += n * hidden;                                      // x [n, D]
  values += (n + remote_normed_rows) * hidden;               // normed [n, D], [remote, D]
  values += n * hidden;                                      // query [n, D]
  values += n * hidden;                                      // attended [n, D]
  values += n * model.ffn;                                   // ffn [n, F]
  values += c * 2 * hidden;                                  // KvContext: K|V [c, 2D]
  values += c;                                               // KvContext: log counts [c]
  values += c;                                               // KvContext: last positions [c], int32
  values += 2 * n;                                           // log counts, positions [n]
  values += 2 * described;                                   // the same of received rows
  values += workload.threads * score_rows * c;               // attention scores of each thread
  values += model.is_text() ? 0 : n * model.patch_inputs();  // patches [n, patch_inputs]
  values += share.received * hidden;                         // receive buffer: N or P*L rows
  values += share.encoded * hidden;                          // own payload: L rows (prism)
  values += share.repeated * hidden;                         // repeated means [N, D] (duplicate)
  values += head_values(workload, share, device);
  return kBytesPerValue * values;
}

}  // namespace thinwire::cost
