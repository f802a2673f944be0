#include "thinwire/cost/memory.hpp"

#include <algorithm>

namespace thinwire::cost {

Index embedding_parameters(const model::ModelConfig& model, Index tokens) {
  const Index hidden = model.hidden;
  const Index positions = std::max(model.max_tokens, tokens) * hidden;
  if (!model.is_text())
    return positions + hidden                         // class token
           + model.patch_inputs() * hidden + hidden;  // patch projection
  const Index norm = model.family == model::Family::bert ? 2 * hidden : 0;
  return positions + (model.vocabulary + model.token_types) * hidden + norm;
}

Index block_parameters(const model::ModelConfig& model) {
  return block_share_parameters(model, model.heads, model.ffn);
}

Index block_share_parameters(const model::ModelConfig& model, Index heads, Index ffn_columns) {
  const Index hidden = model.hidden, width = heads * model.head_dim();
  return 3 * width * hidden + (model.qkv_bias ? 3 * width : 0)  // Q, K, V
         + hidden * width + hidden                              // O
         + ffn_columns * hidden + ffn_columns                   // feed-forward, up
         + hidden * ffn_columns + hidden                        // feed-forward, down
         + 4 * hidden;                                          // LN1, LN2
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

std::int64_t weights_bytes(const model::ModelConfig& model, Index tokens) {
  return kBytesPerValue * (embedding_parameters(model, tokens) +
                           model.layers * block_parameters(model) + head_parameters(model));
}

Index attention_scratch_values(Index rows, Index columns, int threads) {
  constexpr Index kScoresPerThread = 131072;  // unless a single row of columns is longer
  const Index block_rows = std::max<Index>(1, std::min(rows, kScoresPerThread / columns));
  return threads * block_rows * columns;
}

Index kv_context_values(Index columns, Index width) {
  return columns * 2 * width + 2 * columns;
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
