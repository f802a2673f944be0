#include "product_tile.hpp"

#include <array>
#include <utility>

namespace thinwire::ops {
namespace {

template <Index rows>
void multiply(const ProductTile& tile) noexcept {
  std::array<std::array<Vector, 2>, rows> sums = {};
  const float* x = tile.x;
  const float* panel = tile.panel;
  const Index stride = tile.x_stride;
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
    store(tile.y + r * tile.y_stride, sum[0]);
    store(tile.y + r * tile.y_stride + kVectorFloats, sum[1]);
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
