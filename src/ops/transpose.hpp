#pragma once
#include <array>
#include <utility>

#include "vector.hpp"

namespace thinwire::ops {

/// kVectorFloats rows of as many columns.
using VectorSquare = std::array<Vector, static_cast<std::size_t>(kVectorFloats)>;

/// Row i and row i + step exchange those lanes in which bit `step` of row and lane differ.
template <std::size_t step, int... lanes>
void exchange_lanes(VectorSquare& square, std::integer_sequence<int, lanes...> /*all*/) noexcept {
  constexpr int kStep = static_cast<int>(step), kLanes = static_cast<int>(kVectorFloats);
  for (std::size_t row = 0; row < square.size(); ++row) {
    if ((row & step) != 0) continue;
    const Vector upper = square[row], lower = square[row + step];
    square[row] = __builtin_shufflevector(
        upper, lower, ((lanes & kStep) != 0 ? kLanes + lanes - kStep : lanes)...);
    square[row + step] = __builtin_shufflevector(
        upper, lower, ((lanes & kStep) != 0 ? kLanes + lanes : lanes + kStep)...);
  }
}

/// Rows become columns, in registers.
inline void transpose(VectorSquare& square) noexcept {
  constexpr auto kLanes = std::make_integer_sequence<int, static_cast<int>(kVectorFloats)>();
  exchange_lanes<1>(square, kLanes);
  exchange_lanes<2>(square, kLanes);
  if constexpr (kVectorFloats > 4) exchange_lanes<4>(square, kLanes);
  if constexpr (kVectorFloats > 8) exchange_lanes<8>(square, kLanes);
}

}  // namespace thinwire::ops
