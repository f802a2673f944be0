#pragma once
#include <memory_resource>
#include <span>

#include "thinwire/tensor/matrix.hpp"

namespace thinwire::ops {

/// What a device knows of the sequence when it attends: one row a key column, local rows first,
/// then what it learnt of its peers, in any order (attention does not depend on it).
///   K and V [columns, 2 * hidden], K in the left half   log_count [columns]   last [columns]
class KvContext {
 public:
  KvContext(Index capacity, Index hidden, std::pmr::memory_resource* memory);

  Index capacity() const { return kv_.rows(); }
  Index columns() const { return columns_; }
  Index hidden() const { return kv_.cols() / 2; }

  /// Forgets all columns.
  void clear() { columns_ = 0; }
  /// Adds log_counts.size() columns behind those there and returns their K|V rows, to be written.
  ///   log_counts  log of the repeat count g: 0 for an exact token, -infinity hides the column
  ///   last        the global position of the last token that a column stands for (causal mask)
  /// Throws Error when the capacity is exceeded.
  MatrixView<float> append(std::span<const float> log_counts, std::span<const std::int32_t> last);

  MatrixView<const float> keys() const { return kv_.first(columns_).cols(0, hidden()); }
  MatrixView<const float> values() const { return kv_.first(columns_).cols(hidden(), hidden()); }
  std::span<const float> log_counts() const;
  std::span<const std::int32_t> last() const;

 private:
  Matrix<float> kv_;
  Matrix<float> log_counts_;   // [1, capacity]
  Matrix<std::int32_t> last_;  // [1, capacity]
  Index columns_ = 0;
};

}  // namespace thinwire::ops
