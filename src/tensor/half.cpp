#include "thinwire/tensor/half.hpp"

#include <bit>
#include <cstddef>
#include <cstring>

#include "thinwire/base/error.hpp"

namespace thinwire {
namespace {

/// Without branches, so that loops over it are vectorised on every x86-64.
inline float widen_half(std::uint32_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16;
  const std::uint32_t magnitude = half & 0x7fffU;
  // A normal number's exponent is rebiased from 15 to 127; infinity and NaN go on to 255.
  const std::uint32_t rebias = magnitude >= 0x7c00U ? 224U << 23 : 112U << 23;
  const std::uint32_t normal = (magnitude << 13) + rebias;
  // A subnormal is magnitude * 2^-24, which is the unit in the last place of 0.5.
  const float subnormal = std::bit_cast<float>(magnitude | 0x3f000000U) - 0.5F;
  const std::uint32_t bits = magnitude < 0x0400U ? std::bit_cast<std::uint32_t>(subnormal) : normal;
  return std::bit_cast<float>(bits | sign);
}

/// `bits` / 2^shift to nearest, ties to even.
inline std::uint32_t round_shift(std::uint32_t bits, int shift) {
  const std::uint32_t half = 1U << (shift - 1);
  return (bits + half - 1 + ((bits >> shift) & 1U)) >> shift;
}

/// Without branches as well.
inline std::uint16_t narrow_float(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  // From 2^-14 on; a carry may end in infinity, rightly.
  std::uint32_t half = round_shift(magnitude - (112U << 23), 13);
  // Below that the sum's unit in the last place is the subnormals' 2^-24, and the sum rounds.
  const float sum = std::bit_cast<float>(magnitude) + 0.5F;
  half = magnitude < 0x38800000U ? std::bit_cast<std::uint32_t>(sum) - 0x3f000000U : half;
  half = magnitude >= 0x47800000U ? 0x7c00U : half;  // 2^16 and more, infinity
  // NaN stays NaN, quiet, with what fits of its payload.
  const std::uint32_t nan = 0x7e00U | ((magnitude >> 13) & 0x1ffU);
  half = magnitude > 0x7f800000U ? nan : half;
  return static_cast<std::uint16_t>(sign | half);
}

inline float widen_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

inline std::uint16_t narrow_to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t quiet = (bits >> 16) | 0x40U;  // rounding could turn a NaN into infinity
  return static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? quiet
                                                                       : round_shift(bits, 16));
}

}  // namespace

float half_to_float(std::uint16_t half) {
  return widen_half(half);
}

void halves_to_floats(std::span<const std::byte> halves, std::span<float> out) {
  TW_REQUIRE(halves.size() == 2 * out.size(), "{} bytes of halfs for {} floats", halves.size(),
             out.size());
  const std::byte* const from = halves.data();
  float* const to = out.data();
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint16_t half;
    std::memcpy(&half, from + 2 * i, 2);  // a file's bytes need not be aligned
    to[i] = widen_half(half);
  }
}

std::uint16_t float_to_half(float value) {
  return narrow_float(value);
}

void floats_to_halves(std::span<const float> values, std::span<std::uint16_t> out) {
  TW_REQUIRE(values.size() == out.size(), "{} floats for {} halfs", values.size(), out.size());
  const float* const from = values.data();
  std::uint16_t* const to = out.data();
  for (std::size_t i = 0; i < out.size(); ++i) to[i] = narrow_float(from[i]);
}

float bfloat16_to_float(std::uint16_t bits) {
  return widen_bfloat16(bits);
}

std::uint16_t float_to_bfloat16(float value) {
  return narrow_to_bfloat16(value);
}

void bfloat16s_to_floats(std::span<const std::byte> bfloat16s, std::span<float> out) {
  TW_REQUIRE(bfloat16s.size() == 2 * out.size(), "{} bytes of bfloat16 for {} floats",
             bfloat16s.size(), out.size());
  const std::byte* const from = bfloat16s.data();
  float* const to = out.data();
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint16_t bits;
    std::memcpy(&bits, from + 2 * i, 2);
    to[i] = widen_bfloat16(bits);
  }
}

void floats_to_bfloat16s(std::span<const float> values, std::span<std::uint16_t> out) {
  TW_REQUIRE(values.size() == out.size(), "{} floats for {} of bfloat16", values.size(),
             out.size());
  const float* const from = values.data();
  std::uint16_t* const to = out.data();
  for (std::size_t i = 0; i < out.size(); ++i) to[i] = narrow_to_bfloat16(from[i]);
}

}  // namespace thinwire
