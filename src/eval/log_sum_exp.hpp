#pragma once
#include <algorithm>
#include <cmath>
#include <span>

namespace thinwire::eval {

/// ln of the sum of exponentials, in fp64; of at least one value.
inline double log_sum_exp(std::span<const float> logits) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  return largest + std::log(sum);
}

}  // namespace thinwire::eval
