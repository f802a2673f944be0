#include "thinwire/cost/memory.hpp"

#include <algorithm>

namespace thinwire::cost {

Parameters embedding_parameters(const model::ModelConfig& model, Index tokens) {
  const Index hidden = model.hidden;
  const Index positions = std::max(model.max_tokens, tokens) * hidden;
  if (!model.is_text())
    return {model.patch_inputs() * hidden,  // patch projection
            positions + hidden + hidden};   // class token, the projection's bias
  const Index norm = model.family == model::Family::bert ? 2 * hidden : 0;
  return {0, positions + (model.vocabulary + model.token_types) * hidden + norm};
}

Parameters block_parameters(const model::ModelConfig& model) {
  return block_share_parameters(model, model.heads, model.ffn);
}

Parameters block_share_parameters(const model::ModelConfig& model, Index heads, Index ffn_columns) {
  const Index hidden = model.hidden, width = heads * model.head_dim();
  const Index biases = (model.qkv_bias ? 3 * width : 0) + hidden + ffn_columns + hidden;
  return {4 * width * hidden + 2 * ffn_columns * hidden,  // Q, K, V, O, up, down
          biases + 4 * hidden};                           // LN1, LN2
}

Parameters head_parameters(const model::ModelConfig& model) {
  const Index hidden = model.hidden;
  const Index norm = model.norm_order() == model::NormOrder::pre ? 2 * hidden : 0;
  switch (model.head) {
    case model::HeadKind::class_token:
      return {hidden * model.labels, norm + model.labels};
    case model::HeadKind::pooler:
      return {hidden * hidden + hidden * model.labels, norm + hidden + model.labels};
    case model::HeadKind::mean_pooling:
      return {0, norm};
    case model::HeadKind::language_model:
      return {model.vocabulary * hidden, norm};
  }
  return {};
}

std::int64_t weights_bytes(const model::ModelConfig& model, Index tokens, DType dtype) {
  const Parameters all = embedding_parameters(model, tokens) +
                         model.layers * block_parameters(model) + head_parameters(model);
  return all.bytes(dtype);
}

Index attention_scratch_values(Index rows, Index columns, Index head_dim, int threads) {
  constexpr Index kBlockRows = 8;
  const auto padded = [](Index size) { return (size + 31) / 32 * 32; };
  const Index keys = padded(columns) * head_dim, values = columns * padded(head_dim);
  const Index starts = padded(columns), scores = std::min(rows, kBlockRows) * padded(columns);
  return threads * (keys + values + starts + scores);
}

Index kv_context_values(Index columns, Index width) {
  return columns * 2 * width + 2 * columns;
}

std::int64_t lost_rows_bytes(fabric::OnLoss policy, Index rows) {
  return policy == fabric::OnLoss::retransmit ? 0 : rows * (1 + kBytesPerValue);
}

Index whole_head_values(const model::ModelConfig& model, Index tokens) {
  switch (model.head) {
    case model::HeadKind::class_token:
      return model.labels;
    case model::HeadKind::pooler:
      return model.hidden + model.labels;
    case model::HeadKind::mean_pooling:
      return model.hidden;
    case model::HeadKind::language_model:
      return tokens * model.vocabulary;
  }
  return 0;
}

}  // namespace thinwire::cost
