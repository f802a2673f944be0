#include "softmax.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "vector.hpp"

namespace thinwire::ops {
namespace {

using Integers [[gnu::vector_size(kVectorBytes)]] = std::int32_t;

constexpr float kHidden = -std::numeric_limits<float>::infinity();

/// e^x for x <= 0 within 2 units in the last place, 0 where that is below the normal numbers; NaN
/// stays NaN.
/// x = n ln 2 + r with |r| <= ln 2 / 2; the polynomial in r is that of Cephes' expf.
Vector exp_of_nonpositive(Vector x) noexcept {
  constexpr float kLowest = -87.3365F;  // log of the smallest normal number
  constexpr float kLog2E = 1.44269504F;
  constexpr float kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;
  constexpr float kRounder = 12582912.0F;  // 1.5 * 2^23: the sum's last bit is worth 1

  const Vector shifted = x * kLog2E + kRounder;
  const Vector n = shifted - kRounder;
  const Vector r = x - n * kLn2High - n * kLn2Low;
  Vector p = r * 1.9875691500e-4F + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * (r * r) + r + 1.0F;
  const Integers exponent =
      (std::bit_cast<Integers>(shifted) - (std::bit_cast<std::int32_t>(kRounder) - 127)) << 23;
  // Below kLowest all of this is meaningless, and left out.
  return x < kLowest ? Vector{} : p * std::bit_cast<Vector>(exponent);
}

template <class Join, int... lanes>
float reduce(Vector value, const Join& join, std::integer_sequence<int, lanes...> all) noexcept {
  const auto fold = [&]<int step>(std::integral_constant<int, step> /*step*/) {
    if constexpr (step < kVectorFloats)
      value = join(value, __builtin_shufflevector(value, value, (lanes ^ step)...));
  };
  fold(std::integral_constant<int, 8>());
  fold(std::integral_constant<int, 4>());
  fold(std::integral_constant<int, 2>());
  fold(std::integral_constant<int, 1>());
  static_assert(decltype(all)::size() <= 16);
  return value[0];
}

/// All lanes, joined in pairs.
template <class Join>
float reduce(Vector value, const Join& join) noexcept {
  return reduce(value, join, std::make_integer_sequence<int, static_cast<int>(kVectorFloats)>());
}

Vector larger(Vector a, Vector b) noexcept {
  return a > b ? a : b;
}

/// Positions of the columns from j on, as many as there are; those of the padding are hidden
/// anyway.
Integers load_last(const KeyColumns& keys, Index j) noexcept {
  Integers result = {};
  const Index count = std::min(kVectorFloats, keys.columns - j);
  if (count == kVectorFloats)
    std::memcpy(&result, keys.last + j, sizeof result);
  else
    std::memcpy(&result, keys.last + j, static_cast<std::size_t>(count) * sizeof *keys.last);
  return result;
}

/// Hides what a causal mask hides; returns the largest score, -infinity for none.
template <Mask mask>
float mask_scores(float* scores, const KeyColumns& keys, std::int32_t position) noexcept {
  Vector largest = Vector{} + kHidden;
  for (Index j = 0; j < keys.columns; j += kVectorFloats) {
    const Vector score = load(scores + j);
    if constexpr (mask == Mask::causal) {
      const Vector seen = load_last(keys, j) > position ? Vector{} + kHidden : score;
      store(scores + j, seen);
      largest = larger(seen, largest);
    } else {
      largest = larger(score, largest);
    }
  }
  return reduce(largest, larger);
}

template <Mask mask>
bool sees_any(const KeyColumns& keys, std::int32_t position) noexcept {
  for (Index j = 0; j < keys.columns; ++j)
    if (keys.starts[j] != kHidden && (mask == Mask::none || keys.last[j] <= position)) return true;
  return false;
}

}  // namespace

template <Mask mask>
std::optional<float> weigh(float* scores, float scale, const KeyColumns& keys,
                           std::int32_t position) noexcept {
  const float largest = mask_scores<mask>(scores, keys, position);
  // Scores that are all NaN look the same to the maximum; they are to come out as NaN.
  if (largest == kHidden && !sees_any<mask>(keys, position)) return std::nullopt;
  const float shift = largest * scale;
  Vector sum = {};
  for (Index j = 0; j < keys.columns; j += kVectorFloats) {
    const Vector weight = exp_of_nonpositive(load(scores + j) * scale - shift);
    store(scores + j, weight);
    sum += weight;
  }
  return reduce(sum, [](Vector a, Vector b) { return a + b; });
}

template std::optional<float> weigh<Mask::none>(float*, float, const KeyColumns&,
                                                std::int32_t) noexcept;
template std::optional<float> weigh<Mask::causal>(float*, float, const KeyColumns&,
                                                  std::int32_t) noexcept;

}  // namespace thinwire::ops
