#include "thinwire/compress/row_format.hpp"

#include <array>

#include "thinwire/base/text.hpp"

namespace thinwire::compress {
namespace {

constexpr std::array<std::string_view, 4> kRowFormatNames = {"fp32", "fp16", "bf16", "int8"};

}  // namespace

RowFormat parse_row_format(std::string_view name) {
  return static_cast<RowFormat>(name_index("payload", name, kRowFormatNames));
}

std::string_view to_string(RowFormat format) {
  return kRowFormatNames[static_cast<std::size_t>(format)];
}

}  // namespace thinwire::compress
