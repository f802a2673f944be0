#include "thinwire/base/operations.hpp"

#include <array>

#include "thinwire/base/error.hpp"
#include "thinwire/base/text.hpp"

namespace thinwire {
namespace {

constexpr std::array<std::string_view, 3> kConventionNames = {"paper", "mac", "full"};

/// FLOPs of one unit of each kind (ACCOUNTING 1).
constexpr std::int64_t kMac = 2, kLayerNorm = 5, kSoftmax = 5, kGelu = 8, kResidual = 1, kBias = 1;

}  // namespace

Convention parse_convention(std::string_view name) {
  return static_cast<Convention>(name_index("convention", name, kConventionNames));
}

std::string_view to_string(Convention convention) {
  return kConventionNames[static_cast<std::size_t>(convention)];
}

Operations& Operations::operator+=(const Operations& other) {
  matmul_macs += other.matmul_macs;
  layer_norm_elements += other.layer_norm_elements;
  softmax_elements += other.softmax_elements;
  gelu_elements += other.gelu_elements;
  residual_elements += other.residual_elements;
  bias_elements += other.bias_elements;
  return *this;
}

Operations& Operations::operator-=(const Operations& other) {
  matmul_macs -= other.matmul_macs;
  layer_norm_elements -= other.layer_norm_elements;
  softmax_elements -= other.softmax_elements;
  gelu_elements -= other.gelu_elements;
  residual_elements -= other.residual_elements;
  bias_elements -= other.bias_elements;
  return *this;
}

std::int64_t flops(const Operations& o, Convention convention) {
  if (convention == Convention::mac) return o.matmul_macs;
  const std::int64_t paper = kMac * o.matmul_macs + kLayerNorm * o.layer_norm_elements;
  if (convention == Convention::paper) return paper;
  return paper + kSoftmax * o.softmax_elements + kGelu * o.gelu_elements +
         kResidual * o.residual_elements + kBias * o.bias_elements;
}

}  // namespace thinwire
