#pragma once
#include <cmath>
#include <numbers>

#include "ops/matrices.hpp"
#include "thinwire/ops/linear.hpp"

namespace thinwire::test {

inline double activate(double x, ops::Activation activation) {
  if (activation == ops::Activation::none) return x;
  if (activation == ops::Activation::gelu_erf)
    return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

/// An element of activation(x * transpose(weight) + bias) [+ before], and what rounding may do to
/// it in fp32, whatever the order of the sum.
struct LinearElement {
  double value = 0, tolerance = 0;
};

inline LinearElement linear_element(std::span<const float> x, std::span<const float> weight,
                                    double bias, ops::Epilogue epilogue, double before) {
  double sum = bias, magnitude = std::abs(bias);
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum += double{x[i]} * double{weight[i]};
    magnitude += std::abs(double{x[i]} * double{weight[i]});
  }
  const double added = epilogue.accumulate == ops::Accumulate::yes ? before : 0;
  const double value = activate(sum, epilogue.activation) + added;
  // Sums in blocks of vector lanes: sqrt(n) roundings are typical and 4 sqrt(n) are never met. The
  // slope of GELU is at most 1.13; oneDNN evaluates it within some units of the last place.
  const double roundings = 4 * std::sqrt(static_cast<double>(x.size())) + 4;
  return {value, kFp32Epsilon * (1.13 * roundings * magnitude + 16 * (std::abs(added) + 1))};
}

/// Fails unless y = epilogue(x * transpose(weight) + bias), with `before` what y held.
inline void expect_linear(MatrixView<const float> x, MatrixView<const float> weight,
                          std::span<const float> bias, ops::Epilogue epilogue,
                          MatrixView<const float> before, MatrixView<const float> y) {
  for (Index r = 0; r < y.rows(); ++r)
    for (Index o = 0; o < y.cols(); ++o) {
      const double b = bias.empty() ? 0 : bias[static_cast<std::size_t>(o)];
      const auto expected = linear_element(x.row(r), weight.row(o), b, epilogue, before(r, o));
      ASSERT_NEAR(y(r, o), expected.value, expected.tolerance) << "row " << r << ", output " << o;
    }
}

}  // namespace thinwire::test
