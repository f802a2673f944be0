#include "product_tile.hpp"

#include <array>
#include <utility>

namespace thinwire::ops {
namespace {

template <Index rows>
void multiply(const ProductTile& tile) noexcept {
  const float* x = tile.x;
  const float* panel = tile.panel;
  const Index stride = tile.x_stride, y_stride = tile.y_stride;
  float* const y = tile.y;
  std::array<std::array<Vector, 2>, rows> sums;
  sums.fill(tile.bias);
  if (tile.accumulate == Accumulate::yes) {
#pragma GCC unroll 8
    for (Index r = 0; r < rows; ++r) {
      auto& sum = sums[static_cast<std::size_t>(r)];
      sum[0] += load(y + r * y_stride);
      sum[1] += load(y + r * y_stride + kVectorFloats);
    }
  }
  for (Index k = 0; k < tile.depth; ++k) {
    const Vector left = load(panel), right = load(panel + kVectorFloats);
    panel += kTileColumns;
#pragma GCC unroll 8
    for (Index r = 0; r < rows; ++r) {
      const float value = x[r * stride];
      auto& sum = sums[static_cast<std::size_t>(r)];
      sum[0] += value * left;
      sum[1] += value * right;
    }
    ++x;
  }
#pragma GCC unroll 8
  for (Index r = 0; r < rows; ++r) {
    const auto& sum = sums[static_cast<std::size_t>(r)];
    store(y + r * y_stride, sum[0]);
    store(y + r * y_stride + kVectorFloats, sum[1]);
  }
}

template <Index... less_than_rows>
constexpr auto kernels(std::integer_sequence<Index, less_than_rows...> /*all*/) {
  return std::array{&multiply<less_than_rows + 1>...};
}

}  // namespace

void multiply_tile(Index rows, const ProductTile& tile) noexcept {
  static constexpr auto kKernels = kernels(std::make_integer_sequence<Index, kTileRows>());
  kKernels[static_cast<std::size_t>(rows - 1)](tile);
}

}  // namespace thinwire::ops
