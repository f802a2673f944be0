#pragma once
#include <array>

#include "thinwire/ops/linear.hpp"
#include "vector.hpp"

namespace thinwire::ops {

/// Phi(x), the share of x that GELU lets through, is 1/2 + x * p(x^2) for |x| <= kGeluEdge with a
/// polynomial p in u = 2 * x^2 / kGeluEdge^2 - 1, which keeps its coefficients small. Beyond the
/// edge Phi is 0 or 1 in fp32. Weighted least squares made them minimax in GELU's own error, which
/// is below 2.4e-7 * max(1, |x|) (gelu_coefficients.py).
inline constexpr float kGeluEdge = 5.25F;
using GeluPolynomial = std::array<float, 16>;  // of u^0, u^1, ...

inline constexpr GeluPolynomial kGeluErf = {
    1.346593499e-01F, -6.712675840e-02F, 4.964601621e-02F, -3.976555541e-02F,
    3.202730790e-02F, -2.501720376e-02F, 1.856594533e-02F, -1.290059276e-02F,
    8.332834579e-03F, -5.123899318e-03F, 3.027238417e-03F, -1.487944508e-03F,
    5.593747483e-04F, -3.422720474e-04F, 2.720943012e-04F, -8.784791135e-05F};
inline constexpr GeluPolynomial kGeluTanh = {
    1.346683055e-01F, -6.717622280e-02F, 4.976589605e-02F,  -3.992187977e-02F,
    3.211450949e-02F, -2.482303418e-02F, 1.783142425e-02F,  -1.227535959e-02F,
    9.028758854e-03F, -5.502272863e-03F, 9.847272886e-04F,  -5.693915300e-04F,
    3.125984920e-03F, -2.082070569e-03F, -4.289605131e-04F, 4.976897617e-04F};

/// x * Phi(x) in every lane; NaN stays NaN.
template <Activation activation>
Vector activated(Vector x) noexcept {
  if constexpr (activation == Activation::none) {
    return x;
  } else {
    constexpr const GeluPolynomial& kFactors =
        activation == Activation::gelu_erf ? kGeluErf : kGeluTanh;
    const Vector u = x * x * (2 / (kGeluEdge * kGeluEdge)) - 1.0F;
    Vector p = u * 0.0F + kFactors.back();
    for (std::size_t power = kFactors.size() - 1; power-- > 0;) p = p * u + kFactors[power];
    const Vector inside = x * (x * p + 0.5F);
    return x > kGeluEdge ? x : (x < -kGeluEdge ? Vector{} : inside);
  }
}

}  // namespace thinwire::ops
