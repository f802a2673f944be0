#include "thinwire/cost/work.hpp"

namespace thinwire::cost {
namespace {

bool is_pre_norm(const model::ModelConfig& model) {
  return model.norm_order() == model::NormOrder::pre;
}

Behind behind_qkv(const model::ModelConfig& model) {
  return model.qkv_bias ? Behind::bias : Behind::nothing;
}

}  // namespace

Operations linear_work(Index rows, Index inputs, Index outputs, Behind behind) {
  const Index elements = rows * outputs;
  Operations work;
  work.matmul_macs = elements * inputs;
  if (behind != Behind::nothing) work.bias_elements = elements;
  if (behind == Behind::bias_gelu) work.gelu_elements = elements;
  if (behind == Behind::bias_residual) work.residual_elements = elements;
  return work;
}

Operations layer_norm_work(Index rows, Index hidden) {
  Operations work;
  work.layer_norm_elements = rows * hidden;
  return work;
}

Operations bias_residual_work(Index rows, Index hidden) {
  Operations work;
  work.bias_elements = work.residual_elements = rows * hidden;
  return work;
}

Operations embedding_work(const model::ModelConfig& model, Index rows, Index class_tokens) {
  if (!model.is_text())
    return linear_work(rows - class_tokens, model.patch_inputs(), model.hidden, Behind::bias);
  // Table look-ups and their sum are not counted; BERT normalises what they give.
  return is_pre_norm(model) ? Operations{} : layer_norm_work(rows, model.hidden);
}

Operations kv_input_work(const model::ModelConfig& model, Index rows) {
  return is_pre_norm(model) ? layer_norm_work(rows, model.hidden) : Operations{};
}

Operations project_local_work(const model::ModelConfig& model, Index rows) {
  return project_remote_work(model, rows) +
         linear_work(rows, model.hidden, model.hidden, behind_qkv(model));
}

Operations project_remote_work(const model::ModelConfig& model, Index rows) {
  return kv_input_work(model, rows) +
         linear_work(rows, model.hidden, 2 * model.hidden, behind_qkv(model));
}

Operations attention_work(const model::ModelConfig& model, Index heads, Index rows, Index columns) {
  Operations work;
  work.matmul_macs = 2 * rows * columns * heads * model.head_dim();
  work.softmax_elements = heads * rows * columns;
  return work;
}

Operations attention_output_work(const model::ModelConfig& model, Index rows) {
  return linear_work(rows, model.hidden, model.hidden, Behind::bias_residual) +
         attention_norm_work(model, rows);
}

Operations attention_norm_work(const model::ModelConfig& model, Index rows) {
  return is_pre_norm(model) ? Operations{} : layer_norm_work(rows, model.hidden);
}

Operations finish_work(const model::ModelConfig& model, Index rows) {
  return layer_norm_work(rows, model.hidden) +
         linear_work(rows, model.hidden, model.ffn, Behind::bias_gelu) +
         linear_work(rows, model.ffn, model.hidden, Behind::bias_residual);
}

Operations final_rows_work(const model::ModelConfig& model, Index rows) {
  Operations work;
  if (is_pre_norm(model)) work += layer_norm_work(rows, model.hidden);
  if (model.head == model::HeadKind::language_model)
    work += linear_work(rows, model.hidden, model.vocabulary, Behind::nothing);
  return work;
}

Operations classifier_work(const model::ModelConfig& model) {
  Operations work;
  if (model.head == model::HeadKind::pooler)
    work += linear_work(1, model.hidden, model.hidden, Behind::bias);
  if (model.head == model::HeadKind::pooler || model.head == model::HeadKind::class_token)
    work += linear_work(1, model.hidden, model.labels, Behind::bias);
  return work;
}

}  // namespace thinwire::cost
