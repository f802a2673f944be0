#pragma once
#include <memory>
#include <memory_resource>
#include <span>

#include "thinwire/base/operations.hpp"
#include "thinwire/ops/kv_context.hpp"
#include "thinwire/tensor/matrix_view.hpp"

namespace thinwire::ops {

enum class Mask { none, causal };

/// Multi-head attention of local queries over a mixed context (METHODS 2):
///   output = softmax(Q K^T / sqrt(head_dim) + log g + M) V, head by head,
/// where M hides key column j from query i if log g_j is -infinity, or the mask is causal and
/// last_j > position_i. Row maxima are taken over visible columns only.
/// Queries are worked on in blocks whose scores stay in cache: never rows x columns.
class Attention {
 public:
  /// heads * head_dim = hidden. Scratch is held in `memory`, a thread with columns c = max_columns,
  /// d = head_dim and sizes rounded up to multiples of 32 in brackets: [c] * d + c * [d] floats for
  /// a head's keys and values, [c] for log g, and min(max_rows, 8) * [c] for scores.
  Attention(Index heads, Index head_dim, Mask mask, Index max_rows, Index max_columns, int threads,
            std::pmr::memory_resource* memory);
  Attention(Attention&&) noexcept;
  ~Attention();

  ///   query [rows, hidden]   positions [rows] global, read only under a causal mask
  ///   output [rows, hidden], overwritten
  /// Adds 2 * rows * columns * hidden multiply-accumulates and heads * rows * columns softmax
  /// elements to `counted`: hidden columns are computed like the others.
  /// Throws InputError when a query sees no column (an input without a real token).
  void operator()(MatrixView<const float> query, const KvContext& context,
                  std::span<const std::int32_t> positions, MatrixView<float> output,
                  Operations& counted);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace thinwire::ops
