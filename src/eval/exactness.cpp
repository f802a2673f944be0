#include "thinwire/eval/exactness.hpp"

#include "thinwire/base/error.hpp"

namespace thinwire::eval {

ExactBounds exact_bounds(DType dtype) {
  if (dtype == DType::fp32) return {};
  return {.relative_difference = 2e-2, .cosine = 1e-3, .margin = 2e-2};
}

std::vector<std::string> broken_bounds(const OutputAgreement& outputs, const ExactBounds& bounds) {
  std::vector<std::string> broken;
  // Written so that not-a-number fails each of them.
  if (!(outputs.relative_difference <= bounds.relative_difference))
    broken.push_back(fmt::format("outputs differ by {:.1e} of the largest (at most {:.0e})",
                                 outputs.relative_difference, bounds.relative_difference));
  if (!(outputs.cosine >= 1 - bounds.cosine))
    broken.push_back(
        fmt::format("their cosine is {:.7f} (1 but for {:.0e})", outputs.cosine, bounds.cosine));
  if (outputs.lost_margin && !(*outputs.lost_margin < bounds.margin))
    broken.push_back(
        fmt::format("another top-1 where the single device's leads by {:.1e} of the "
                    "largest output (below {:.0e} it would be a tie)",
                    *outputs.lost_margin, bounds.margin));
  return broken;
}

}  // namespace thinwire::eval
