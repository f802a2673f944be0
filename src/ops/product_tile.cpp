#include "product_tile.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace thinwire::ops {
namespace {

/// Floats before a vector of a tile's row.
constexpr Index at(std::size_t vector) {
  return static_cast<Index>(vector) * kVectorFloats;
}

template <Index rows, std::size_t vectors>
void multiply(const ProductTile& tile) noexcept {
  const float* x = tile.x;
  const float* panel = tile.panel;
  const Index stride = tile.x_stride, y_stride = tile.y_stride;
  float* const y = tile.y;
  std::array<std::array<Vector, vectors>, rows> sums;
  for (auto& sum : sums) std::copy_n(tile.bias.begin(), vectors, sum.begin());
  if (tile.accumulate == Accumulate::yes) {
#pragma GCC unroll 8
    for (Index r = 0; r < rows; ++r) {
      auto& sum = sums[static_cast<std::size_t>(r)];
      for (std::size_t v = 0; v < vectors; ++v) sum[v] += load(y + r * y_stride + at(v));
    }
  }
  for (Index k = 0; k < tile.depth; ++k) {
    std::array<Vector, vectors> weights;
    for (std::size_t v = 0; v < vectors; ++v) weights[v] = load(panel + at(v));
    panel += kTileColumns;
#pragma GCC unroll 8
    for (Index r = 0; r < rows; ++r) {
      const float value = x[r * stride];
      auto& sum = sums[static_cast<std::size_t>(r)];
      for (std::size_t v = 0; v < vectors; ++v) sum[v] += value * weights[v];
    }
    ++x;
  }
#pragma GCC unroll 8
  for (Index r = 0; r < rows; ++r) {
    const auto& sum = sums[static_cast<std::size_t>(r)];
    for (std::size_t v = 0; v < vectors; ++v) store(y + r * y_stride + at(v), sum[v]);
  }
}

template <std::size_t vectors, Index... less_than_rows>
constexpr auto kernels(std::integer_sequence<Index, less_than_rows...> /*all*/) {
  return std::array{&multiply<less_than_rows + 1, vectors>...};
}

}  // namespace

void multiply_tile(Index rows, const ProductTile& tile) noexcept {
  constexpr auto kRows = std::make_integer_sequence<Index, kTileRows>();
  static constexpr auto kWhole = kernels<2>(kRows), kHalf = kernels<1>(kRows);
  (tile.is_half ? kHalf : kWhole)[static_cast<std::size_t>(rows - 1)](tile);
}

}  // namespace thinwire::ops
