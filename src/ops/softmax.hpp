#pragma once
#include <cstdint>
#include <span>

#include "thinwire/ops/attention.hpp"

namespace thinwire::ops {

/// What decides how a query sees the key columns.
struct KeyColumns {
  std::span<const float> log_counts;   ///< log g, -infinity hides a column
  std::span<const std::int32_t> last;  ///< read under a causal mask only
};

/// One query's scores become probabilities: softmax(scale * scores + log g) over the columns that
/// the query at `position` sees, 0 for the others.
/// False when it sees none; the scores are meaningless then.
template <Mask mask>
bool softmax_row(std::span<float> scores, float scale, const KeyColumns& keys,
                 std::int32_t position) noexcept;

}  // namespace thinwire::ops
