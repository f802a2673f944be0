#pragma once
#include <cstdint>

#include "thinwire/base/dtype.hpp"
#include "thinwire/base/types.hpp"
#include "thinwire/fabric/loss.hpp"
#include "thinwire/model/model_config.hpp"

namespace thinwire::cost {

// Parameters and workspace, in values of 4 bytes: fp32 and int32 alike. GPT-2's LM head is a
// second, packed copy of the token table. Packing pads some products' outputs to whole blocks; that
// is not counted, and neither are rows as products read them in bf16.

inline constexpr std::int64_t kBytesPerValue = 4;

/// Counts of parameters, those apart whose size is the products' data type's.
struct Parameters {
  Index multiplied = 0;  ///< weights of matrix products
  Index others = 0;      ///< biases, norms and tables, fp32
  Index count() const { return multiplied + others; }
  std::int64_t bytes(DType dtype) const {
    return bytes_of(dtype) * multiplied + kBytesPerValue * others;
  }
  friend Parameters operator+(Parameters a, Parameters b) {
    return {a.multiplied + b.multiplied, a.others + b.others};
  }
  friend Parameters operator*(Index times, Parameters each) {
    return {times * each.multiplied, times * each.others};
  }
};

/// Random weights may be asked for more `tokens` than the model's position table has.
Parameters embedding_parameters(const model::ModelConfig& model, Index tokens);
Parameters block_parameters(const model::ModelConfig& model);
/// A device's part of a block under tensor parallelism: heads and feed-forward columns of its own;
/// norms and the biases behind the sums are on every device.
Parameters block_share_parameters(const model::ModelConfig& model, Index heads, Index ffn_columns);
Parameters head_parameters(const model::ModelConfig& model);

/// Bytes of all parameters of a model.
std::int64_t weights_bytes(const model::ModelConfig& model, Index tokens,
                           DType dtype = DType::fp32);

/// What attention works in on `threads` threads: a head's keys and values, and scores of blocks of
/// queries, never of all (ops::Attention).
Index attention_scratch_values(Index rows, Index columns, Index head_dim, int threads);
/// Key columns: K|V [columns, 2 * width], log counts and last positions [columns].
Index kv_context_values(Index columns, Index width);
/// What a receiver notes of `rows` rows where packets may be missing: a flag and a log count each.
std::int64_t lost_rows_bytes(fabric::OnLoss policy, Index rows);
/// The head's results on a device that has every row.
Index whole_head_values(const model::ModelConfig& model, Index tokens);

}  // namespace thinwire::cost
