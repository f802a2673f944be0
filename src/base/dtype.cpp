#include "thinwire/base/dtype.hpp"

#include <array>

#include "thinwire/base/text.hpp"

namespace thinwire {
namespace {

constexpr std::array<std::string_view, 2> kDTypeNames = {"fp32", "bf16"};

}  // namespace

DType parse_dtype(std::string_view name) {
  return static_cast<DType>(name_index("dtype", name, kDTypeNames));
}

std::string_view to_string(DType dtype) {
  return kDTypeNames[static_cast<std::size_t>(dtype)];
}

}  // namespace thinwire
