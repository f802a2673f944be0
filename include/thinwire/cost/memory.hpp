#pragma once
#include <cstdint>

#include "thinwire/base/types.hpp"
#include "thinwire/model/model_config.hpp"

namespace thinwire::cost {

// Parameters and workspace, in values of 4 bytes: fp32 and int32 alike. GPT-2's LM head is a
// second, packed copy of the token table. Packing pads some products' outputs to whole blocks; that
// is not counted.

inline constexpr std::int64_t kBytesPerValue = 4;

/// Random weights may be asked for more `tokens` than the model's position table has.
Index embedding_parameters(const model::ModelConfig& model, Index tokens);
Index block_parameters(const model::ModelConfig& model);
/// A device's part of a block under tensor parallelism: heads and feed-forward columns of its own;
/// norms and the biases behind the sums are on every device.
Index block_share_parameters(const model::ModelConfig& model, Index heads, Index ffn_columns);
Index head_parameters(const model::ModelConfig& model);

/// Bytes of all parameters of a model.
std::int64_t weights_bytes(const model::ModelConfig& model, Index tokens);

/// Scores that attention keeps for `threads` threads: of blocks of queries, never of all.
Index attention_scratch_values(Index rows, Index columns, int threads);
/// Key columns: K|V [columns, 2 * width], log counts and last positions [columns].
Index kv_context_values(Index columns, Index width);
/// The head's results on a device that has every row.
Index whole_head_values(const model::ModelConfig& model, Index tokens);

}  // namespace thinwire::cost
