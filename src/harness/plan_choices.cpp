#include <algorithm>
#include <cmath>

#include "plan_parts.hpp"
#include "thinwire/base/error.hpp"

namespace thinwire::harness {
namespace {

constexpr double kStepsPerDecade = 8;
constexpr double kPrecision = 1e-4;  // of a rate

using Best = std::optional<std::size_t>;

/// A rate and what is best there.
struct Probe {
  double bit_per_s = 0;
  Best best;
};

/// Halves the ratio of two rates until the flips in between are narrow enough; a third entry that
/// is best for a while in between is found as well.
void add_flips(const std::function<Best(double)>& best_at, const Probe& low, const Probe& high,
               std::vector<Probe>& flips) {
  if (low.best == high.best) return;
  if (high.bit_per_s < low.bit_per_s * (1 + kPrecision)) {
    flips.push_back(high);
    return;
  }
  const double middle = std::sqrt(low.bit_per_s * high.bit_per_s);
  const Probe between{middle, best_at(middle)};
  add_flips(best_at, low, between, flips);
  add_flips(best_at, between, high, flips);
}

}  // namespace

std::vector<PlanChoice> choices_over_rates(Rate slowest, Rate fastest,
                                           const std::function<Best(double)>& best_at,
                                           const std::function<void(double)>& on_progress) {
  require_input(slowest < fastest && !fastest.is_unlimited(),
                "{} to {}: the slower rate comes first, and both are limited", to_string(slowest),
                to_string(fastest));
  const double decades = std::log10(fastest.bit_per_s() / slowest.bit_per_s());
  const int steps = std::max(1, static_cast<int>(std::ceil(decades * kStepsPerDecade)));
  Probe last{slowest.bit_per_s(), best_at(slowest.bit_per_s())};
  std::vector<PlanChoice> choices{{slowest, fastest, last.best}};
  for (int step = 1; step <= steps; ++step) {
    const double bit_per_s = step == steps
                                 ? fastest.bit_per_s()
                                 : slowest.bit_per_s() * std::pow(10.0, decades * step / steps);
    const Probe next{bit_per_s, best_at(bit_per_s)};
    std::vector<Probe> flips;
    add_flips(best_at, last, next, flips);
    for (const Probe& flip : flips) {
      choices.back().to = Rate::bits_per_second(flip.bit_per_s);
      choices.push_back({choices.back().to, fastest, flip.best});
    }
    last = next;
    if (on_progress) on_progress(static_cast<double>(step) / steps);
  }
  return choices;
}

}  // namespace thinwire::harness
