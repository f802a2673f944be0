#pragma once
#include <cstdint>
#include <string_view>

namespace thinwire {

/// What the weights of a matrix product are kept in, and the rows it multiplies rounded to. Sums,
/// biases, results and all between products are fp32 either way.
enum class DType {
  fp32,
  bf16,  ///< the upper half of an fp32 number, rounded to nearest, ties to even
};
DType parse_dtype(std::string_view name);  // InputError with the known names
std::string_view to_string(DType dtype);

constexpr std::int64_t bytes_of(DType dtype) {
  return dtype == DType::fp32 ? 4 : 2;
}

}  // namespace thinwire
