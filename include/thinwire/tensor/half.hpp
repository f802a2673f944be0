#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace thinwire {

/// IEEE half precision: every value (subnormals, infinities, NaN) is widened exactly; narrowing
/// rounds to nearest, ties to even, and overflows to infinity.
float half_to_float(std::uint16_t half);
std::uint16_t float_to_half(float value);

/// Widens out.size() halfs given as bytes (little-endian, aligned or not), vectorised.
void halves_to_floats(std::span<const std::byte> halves, std::span<float> out);
/// Narrows values.size() floats, vectorised; `out` is of the same size.
void floats_to_halves(std::span<const float> values, std::span<std::uint16_t> out);

/// bfloat16, the upper half of a float; same rounding.
float bfloat16_to_float(std::uint16_t bits);
std::uint16_t float_to_bfloat16(float value);

/// The same for many, as halfs.
void bfloat16s_to_floats(std::span<const std::byte> bfloat16s, std::span<float> out);
void floats_to_bfloat16s(std::span<const float> values, std::span<std::uint16_t> out);

}  // namespace thinwire
