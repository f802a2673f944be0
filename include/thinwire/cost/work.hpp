#pragma once
#include "thinwire/base/operations.hpp"
#include "thinwire/model/model_config.hpp"

namespace thinwire::cost {

// Operations of the row-wise functions of a model (METHODS 2) and of attention, kind by kind what
// the operators will count (ACCOUNTING 1).

/// What runs behind a product, on each of its outputs.
enum class Behind { nothing, bias, bias_gelu, bias_residual };

/// rows [rows, inputs] * transpose(weight) [outputs, inputs]
Operations linear_work(Index rows, Index inputs, Index outputs, Behind behind);
Operations layer_norm_work(Index rows, Index hidden);
/// x += sum + bias, element by element (tensor parallelism, behind an all-reduce).
Operations bias_residual_work(Index rows, Index hidden);

/// From the input to the first hidden state of `rows` tokens, of which `class_tokens` are class
/// tokens: parameters that cost nothing.
Operations embedding_work(const model::ModelConfig& model, Index rows, Index class_tokens);

/// LN1 of a pre-norm model; nothing for a post-norm one.
Operations kv_input_work(const model::ModelConfig& model, Index rows);
/// What a device does to its own rows before attention: LN1 (pre-norm), Q, K and V.
Operations project_local_work(const model::ModelConfig& model, Index rows);
/// The same for rows of its peers: no Q.
Operations project_remote_work(const model::ModelConfig& model, Index rows);
/// Q K^T and A V of `rows` queries over `columns`, for `heads` of the model's heads. Columns that a
/// mask hides are computed as well.
Operations attention_work(const model::ModelConfig& model, Index heads, Index rows, Index columns);
/// O with the residual around attention, and what a post-norm model does to it.
Operations attention_output_work(const model::ModelConfig& model, Index rows);
/// LN1 of a post-norm model, behind the residual; nothing for a pre-norm one.
Operations attention_norm_work(const model::ModelConfig& model, Index rows);
/// The block's second half: LN2, feed-forward, residual.
Operations finish_work(const model::ModelConfig& model, Index rows);

/// Final LayerNorm of `rows` rows, and the LM head of a language model.
Operations final_rows_work(const model::ModelConfig& model, Index rows);
/// Pooler and classifier of the device that has the first row; nothing for other heads.
Operations classifier_work(const model::ModelConfig& model);

}  // namespace thinwire::cost
