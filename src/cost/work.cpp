#include "thinwire/cost/work.hpp"

namespace thinwire::cost {
namespace {

/// What runs behind a product, on each of its outputs.
enum class Behind { nothing, bias, bias_gelu, bias_residual };

Operations linear(Index rows, Index inputs, Index outputs, Behind behind) {
  const Index elements = rows * outputs;
  Operations work;
  work.matmul_macs = elements * inputs;
  if (behind != Behind::nothing) work.bias_elements = elements;
  if (behind == Behind::bias_gelu) work.gelu_elements = elements;
  if (behind == Behind::bias_residual) work.residual_elements = elements;
  return work;
}

Operations layer_norm(Index rows, Index hidden) {
  Operations work;
  work.layer_norm_elements = rows * hidden;
  return work;
}

/// Q K^T and A V of n queries over c columns. Columns that a mask hides are computed as well.
Operations attention(Index rows, Index columns, const model::ModelConfig& model) {
  Operations work;
  work.matmul_macs = 2 * rows * columns * model.hidden;
  work.softmax_elements = model.heads * rows * columns;
  return work;
}

bool is_pre_norm(const model::ModelConfig& model) {
  return model.norm_order() == model::NormOrder::pre;
}

}  // namespace

Operations embedding_work(const model::ModelConfig& model, const Share& share, int device) {
  if (!model.is_text()) {
    const Index patches = share.local - (device == 0 ? 1 : 0);  // the class token is a parameter
    return linear(patches, model.patch_inputs(), model.hidden, Behind::bias);
  }
  // Table look-ups and their sum are not counted; BERT normalises what they give.
  return is_pre_norm(model) ? Operations{} : layer_norm(share.local, model.hidden);
}

Operations block_work(const model::ModelConfig& model, const Share& share) {
  const Index n = share.local, k = share.projected, hidden = model.hidden;
  const Behind qkv = model.qkv_bias ? Behind::bias : Behind::nothing;
  return layer_norm(is_pre_norm(model) ? k : n, hidden)          // LN1
         + linear(n, hidden, hidden, qkv)                        // Q
         + linear(k, hidden, 2 * hidden, qkv)                    // K and V
         + attention(n, share.columns, model)                    // QK^T and AV
         + linear(n, hidden, hidden, Behind::bias_residual)      // O
         + layer_norm(n, hidden)                                 // LN2
         + linear(n, hidden, model.ffn, Behind::bias_gelu)       // feed-forward, up
         + linear(n, model.ffn, hidden, Behind::bias_residual);  // feed-forward, down
}

Operations head_work(const model::ModelConfig& model, const Share& share, int device) {
  const Index n = share.local, hidden = model.hidden;
  Operations work;
  if (is_pre_norm(model)) work += layer_norm(n, hidden);
  switch (model.head) {
    case model::HeadKind::pooler:
      if (device == 0) work += linear(1, hidden, hidden, Behind::bias);
      [[fallthrough]];
    case model::HeadKind::class_token:
      if (device == 0) work += linear(1, hidden, model.labels, Behind::bias);
      break;
    case model::HeadKind::mean_pooling:
      break;  // sums alone
    case model::HeadKind::language_model:
      work += linear(n, hidden, model.vocabulary, Behind::nothing);
      break;
  }
  return work;
}

}  // namespace thinwire::cost
