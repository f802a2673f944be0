#pragma once
#include <cstdint>
#include <string_view>

namespace thinwire {

/// How operations become FLOPs (ACCOUNTING 1).
enum class Convention {
  paper,  ///< 2 a multiply-accumulate of a matrix product, 5 a LayerNorm element, nothing else
  mac,    ///< 1 a multiply-accumulate, nothing else
  full,   ///< as paper, and softmax 5, GELU 8, residual 1, bias 1 an element
};
Convention parse_convention(std::string_view name);  // InputError with the known names
std::string_view to_string(Convention convention);

/// What operators did, or a formula says they will do: exact integers, summed by kind.
struct Operations {
  std::int64_t matmul_macs = 0;  ///< multiply-accumulates of every matrix product
  std::int64_t layer_norm_elements = 0;
  std::int64_t softmax_elements = 0;  ///< scores, hidden columns included (computed densely)
  std::int64_t gelu_elements = 0;
  std::int64_t residual_elements = 0;
  std::int64_t bias_elements = 0;

  Operations& operator+=(const Operations& other);
  Operations& operator-=(const Operations& other);
  friend Operations operator+(Operations a, const Operations& b) { return a += b; }
  friend Operations operator-(Operations a, const Operations& b) { return a -= b; }
  bool operator==(const Operations&) const = default;
};

std::int64_t flops(const Operations& operations, Convention convention);

}  // namespace thinwire
