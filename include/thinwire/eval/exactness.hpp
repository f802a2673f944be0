#pragma once
#include <string>
#include <vector>

#include "thinwire/base/dtype.hpp"
#include "thinwire/eval/agreement.hpp"

namespace thinwire::eval {

/// What METHODS 8 leaves an exact strategy to rounding: fp32 sums in another order.
struct ExactBounds {
  double relative_difference = 1e-4;  ///< of outputs, to the largest one
  double cosine = 1e-5;               ///< that a cosine may be off
  double margin = 1e-4;               ///< below it another top-1 is a tie that rounding broke
};

/// In bf16 a sum that ends one fp32 unit away may be rounded to the neighbour, 2^-8 of its size
/// off, for the next product; few are, and the layers behind add to it.
ExactBounds exact_bounds(DType dtype);

/// The bounds that outputs break, one phrase each for people; none when they are the single
/// device's. Not-a-number breaks them.
std::vector<std::string> broken_bounds(const OutputAgreement& outputs,
                                       const ExactBounds& bounds = {});

}  // namespace thinwire::eval
