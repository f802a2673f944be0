#include "thinwire/compress/row_codec.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

#include "thinwire/base/error.hpp"
#include "thinwire/tensor/half.hpp"

namespace thinwire::compress {
namespace {

constexpr std::uint32_t kMagnitude = 0x7fffffffU, kInfinity = 0x7f800000U;  // of an fp32 number
constexpr std::uint16_t kHalfInfinity = 0x7c00, kBfloatInfinity = 0x7f80;

inline std::uint32_t magnitude_of(float value) {
  return std::bit_cast<std::uint32_t>(value) & kMagnitude;
}

/// Finite values that became infinite in 16 bits: the code before infinity is the largest number.
void saturate(std::span<const float> row, std::uint16_t infinity, std::uint16_t* codes) {
  const float* const from = row.data();
  for (std::size_t i = 0; i < row.size(); ++i) {
    const bool is_overflow = (codes[i] & 0x7fffU) == infinity && magnitude_of(from[i]) < kInfinity;
    codes[i] = static_cast<std::uint16_t>(codes[i] - (is_overflow ? 1 : 0));
  }
}

void encode_16_bits(std::span<const float> row, RowFormat format, std::byte* to) {
  auto* const codes = reinterpret_cast<std::uint16_t*>(to);
  if (format == RowFormat::fp16)
    floats_to_halves(row, {codes, row.size()});
  else
    floats_to_bfloat16s(row, {codes, row.size()});
  saturate(row, format == RowFormat::fp16 ? kHalfInfinity : kBfloatInfinity, codes);
}

/// max |x| / 127; 0 for what has no normal scale, NaN for a row with an infinity or NaN.
float scale_of(std::span<const float> row) {
  constexpr float kLargestCode = 127;
  // As integers magnitudes have the order of the numbers, with NaN at the end: no branch for it.
  std::uint32_t largest = 0;
  for (const float value : row) largest = std::max(largest, magnitude_of(value));
  if (largest >= kInfinity) return std::numeric_limits<float>::quiet_NaN();
  const float scale = std::bit_cast<float>(largest) / kLargestCode;
  return scale < std::numeric_limits<float>::min() ? 0.0F : scale;
}

/// `value`, at most 127 in magnitude, to the nearest integer, ties to even: in a sum with 1.5 *
/// 2^23 the unit in the last place is 1, and the last byte is the integer.
inline std::int8_t nearest_code(float value) {
  constexpr float kUnits = 12582912.0F;
  return static_cast<std::int8_t>(std::bit_cast<std::uint32_t>(value + kUnits));
}

void encode_int8(std::span<const float> row, std::byte* to) {
  const float scale = scale_of(row);
  const float inverse = scale > 0 ? 1 / scale : 0.0F;
  std::memcpy(to, &scale, sizeof scale);
  auto* const codes = reinterpret_cast<std::int8_t*>(to + sizeof scale);
  const float* const from = row.data();
  for (std::size_t i = 0; i < row.size(); ++i) codes[i] = nearest_code(from[i] * inverse);
}

void decode_int8(const std::byte* from, std::span<float> row) {
  float scale;
  std::memcpy(&scale, from, sizeof scale);
  const auto* const codes = reinterpret_cast<const std::int8_t*>(from + sizeof scale);
  float* const to = row.data();
  for (std::size_t i = 0; i < row.size(); ++i) to[i] = scale * static_cast<float>(codes[i]);
}

std::size_t stride_of(RowFormat format, Index rows, Index width, std::size_t bytes) {
  const auto stride = static_cast<std::size_t>(row_bytes(format, width));
  TW_REQUIRE(bytes == static_cast<std::size_t>(rows) * stride, "{} bytes for {} rows of {} in {}",
             bytes, rows, width, to_string(format));
  return stride;
}

}  // namespace

void encode_rows(MatrixView<const float> rows, RowFormat format, std::span<std::byte> out) {
  const std::size_t stride = stride_of(format, rows.rows(), rows.cols(), out.size());
  std::byte* to = out.data();
  for (Index row = 0; row < rows.rows(); ++row, to += stride) {
    switch (format) {
      case RowFormat::fp32:
        std::memcpy(to, rows.row(row).data(), stride);
        break;
      case RowFormat::fp16:
      case RowFormat::bf16:
        encode_16_bits(rows.row(row), format, to);
        break;
      case RowFormat::int8:
        encode_int8(rows.row(row), to);
        break;
    }
  }
}

void decode_rows(std::span<const std::byte> from, RowFormat format, MatrixView<float> rows) {
  const std::size_t stride = stride_of(format, rows.rows(), rows.cols(), from.size());
  for (Index row = 0; row < rows.rows(); ++row, from = from.subspan(stride)) {
    switch (format) {
      case RowFormat::fp32:
        std::memcpy(rows.row(row).data(), from.data(), stride);
        break;
      case RowFormat::fp16:
        halves_to_floats(from.first(stride), rows.row(row));
        break;
      case RowFormat::bf16:
        bfloat16s_to_floats(from.first(stride), rows.row(row));
        break;
      case RowFormat::int8:
        decode_int8(from.data(), rows.row(row));
        break;
    }
  }
}

}  // namespace thinwire::compress
