#pragma once
#include <cstdint>
#include <string_view>

#include "thinwire/base/types.hpp"

namespace thinwire::compress {

/// How rows of activations lie in a payload (voltage, prism). A formula header.
enum class RowFormat {
  fp32,
  fp16,
  bf16,
  int8,  ///< a byte a value, behind the row's scale in fp32
};
RowFormat parse_row_format(std::string_view name);  // InputError with the known names
std::string_view to_string(RowFormat format);

/// Bytes of a row of `width` values (D). A scale is payload: it is a part of the values, where a
/// header (ACCOUNTING 2) says how to read them.
constexpr std::int64_t row_bytes(RowFormat format, Index width) {
  constexpr std::int64_t kScaleBytes = 4;
  switch (format) {
    case RowFormat::fp32:
      return 4 * width;
    case RowFormat::fp16:
    case RowFormat::bf16:
      return 2 * width;
    case RowFormat::int8:
      break;
  }
  return kScaleBytes + width;
}

}  // namespace thinwire::compress
