#pragma once
#include <array>

#include "thinwire/ops/linear.hpp"
#include "vector.hpp"

namespace thinwire::ops {

/// A tile of a product stays in registers while all of its inputs pass by: two vectors of columns,
/// and rows so that accumulators, a row of weights and an input fill the register file. More rows
/// would fit with AVX-512 (14), but their addresses no longer fit in the scalar registers.
inline constexpr Index kTileColumns = 2 * kVectorFloats;
inline constexpr Index kTileRows = kVectorBytes == 64 ? 8 : 6;

/// Multiply-accumulates of some ten microseconds: below, a second thread costs more than it saves.
inline constexpr Index kMacsWorthThreads = Index{1} << 19;

/// y [rows, columns] = start + x [rows, depth] * panel [depth, kTileColumns], where start is
/// the bias, or the bias and what y held. Columns are kTileColumns, or the first kVectorFloats of
/// them.
struct ProductTile {
  const float* x;
  Index x_stride;  ///< floats between rows
  const float* panel;
  Index depth;
  float* y;
  Index y_stride;
  std::array<Vector, 2> bias = {};
  Accumulate accumulate = Accumulate::no;
  bool is_half = false;  ///< the first vector of columns alone
};

/// `rows` is 1 to kTileRows. Every element is one sum, its start first and then 0 ... depth - 1,
/// whatever the rows: the same row gives the same bits in any tile.
void multiply_tile(Index rows, const ProductTile& tile) noexcept;

/// All rows as tiles of nearly equal height: `visit(first, rows)` for each.
template <class Visit>
void for_each_tile(Index rows, const Visit& visit) {
  const Index tiles = (rows + kTileRows - 1) / kTileRows;
  for (Index tile = 0; tile < tiles; ++tile) {
    const Index first = rows * tile / tiles;
    visit(first, rows * (tile + 1) / tiles - first);
  }
}

}  // namespace thinwire::ops
