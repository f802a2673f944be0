#pragma once
#include <cstdint>
#include <optional>

#include "thinwire/ops/attention.hpp"

namespace thinwire::ops {

/// What decides how a query sees the key columns.
struct KeyColumns {
  /// What the scores started from [columns, padded to whole vectors]: -infinity hides a column, as
  /// it does those of the padding.
  const float* starts;
  const std::int32_t* last;  ///< [columns], read under a causal mask only
  Index columns;
};

/// One query's scores [columns, padded] become its weights e^(scale * (score - largest)) over the
/// columns that the query at `position` sees, 0 for the others: softmax(scale * scores), but for
/// the division by the weights' sum, which is returned. Nothing when it sees no column; the scores
/// are meaningless then.
template <Mask mask>
std::optional<float> weigh(float* scores, float scale, const KeyColumns& keys,
                           std::int32_t position) noexcept;

}  // namespace thinwire::ops
