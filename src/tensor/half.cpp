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
std::uint32_t round_shift(std::uint32_t bits, int shift) {
  const std::uint32_t half = 1U << (shift - 1);
  return (bits + half - 1 + ((bits >> shift) & 1U)) >> shift;
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
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  const auto signed_half = [sign](std::uint32_t half) {
    return static_cast<std::uint16_t>(sign | half);
  };
  if (magnitude > 0x7f800000U)  // NaN stays NaN, quiet, with what fits of its payload
    return signed_half(0x7e00U | ((magnitude >> 13) & 0x1ffU));
  if (magnitude >= 0x47800000U) return signed_half(0x7c00U);  // 2^16 and more, infinity
  if (magnitude >= 0x38800000U)  // normal from 2^-14 on; a carry may end in infinity, rightly
    return signed_half(round_shift(magnitude - (112U << 23), 13));
  const auto exponent = static_cast<int>(magnitude >> 23);
  const int shift = 126 - exponent;       // the mantissa counts 2^(exponent - 150), the half 2^-24
  if (shift > 24) return signed_half(0);  // below half the least subnormal
  return signed_half(round_shift((magnitude & 0x7fffffU) | 0x800000U, shift));
}

float bfloat16_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t float_to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffU) > 0x7f800000U)  // rounding could turn a NaN into infinity
    return static_cast<std::uint16_t>((bits >> 16) | 0x40U);
  return static_cast<std::uint16_t>(round_shift(bits, 16));
}

}  // namespace thinwire
