#include "softmax.hpp"

#include <bit>
#include <limits>

namespace thinwire::ops {
namespace {

constexpr float kHidden = -std::numeric_limits<float>::infinity();

/// e^x for x <= 0 within 2 units in the last place, 0 where that is below the normal numbers; NaN
/// stays NaN. No branches and no calls, so that loops around it become vector code.
/// x = n ln 2 + r with |r| <= ln 2 / 2; the polynomial in r is that of Cephes' expf.
inline float exp_of_nonpositive(float x) {
  constexpr float kLowest = -87.3365F;  // log of the smallest normal number
  constexpr float kLog2E = 1.44269504F;
  constexpr float kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;
  constexpr float kRounder = 12582912.0F;  // 1.5 * 2^23: the sum's last bit is worth 1

  const float clamped = x < kLowest ? kLowest : x;
  const float shifted = clamped * kLog2E + kRounder;
  const float n = shifted - kRounder;
  const float r = clamped - n * kLn2High - n * kLn2Low;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * (r * r) + r + 1.0F;
  const std::uint32_t exponent =
      (std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(kRounder) + 127U)
      << 23U;
  return x < kLowest ? 0.0F : p * std::bit_cast<float>(exponent);
}

/// Applies scale, log g and mask in place; returns the largest result, -infinity for none.
template <Mask mask>
float bias_scores(float* scores, std::int64_t columns, float scale, const float* log_counts,
                  const std::int32_t* last, std::int32_t position) {
  float largest = kHidden;
#pragma omp simd reduction(max : largest)
  for (std::int64_t j = 0; j < columns; ++j) {
    float score = scores[j] * scale + log_counts[j];
    if constexpr (mask == Mask::causal) score = last[j] > position ? kHidden : score;
    scores[j] = score;
    largest = score > largest ? score : largest;
  }
  return largest;
}

/// Replaces scores by e^(score - largest); returns their sum.
float exponentiate(float* scores, std::int64_t columns, float largest) {
  float sum = 0.0F;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t j = 0; j < columns; ++j) {
    scores[j] = exp_of_nonpositive(scores[j] - largest);
    sum += scores[j];
  }
  return sum;
}

template <Mask mask>
bool sees_any(const KeyColumns& keys, std::int32_t position) {
  for (std::size_t j = 0; j < keys.log_counts.size(); ++j)
    if (keys.log_counts[j] != kHidden && (mask == Mask::none || keys.last[j] <= position))
      return true;
  return false;
}

}  // namespace

template <Mask mask>
bool softmax_row(std::span<float> scores, float scale, const KeyColumns& keys,
                 std::int32_t position) noexcept {
  const std::int64_t columns = std::ssize(scores);
  const float largest = bias_scores<mask>(scores.data(), columns, scale, keys.log_counts.data(),
                                          keys.last.data(), position);
  // Scores that are all NaN look the same to the maximum; they are to come out as NaN.
  if (largest == kHidden && !sees_any<mask>(keys, position)) return false;
  const float factor = 1.0F / exponentiate(scores.data(), columns, largest);
  float* data = scores.data();
#pragma omp simd
  for (std::int64_t j = 0; j < columns; ++j) data[j] *= factor;
  return true;
}

template bool softmax_row<Mask::none>(std::span<float>, float, const KeyColumns&,
                                      std::int32_t) noexcept;
template bool softmax_row<Mask::causal>(std::span<float>, float, const KeyColumns&,
                                        std::int32_t) noexcept;

}  // namespace thinwire::ops
