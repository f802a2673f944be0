#include "thinwire/fabric/loss.hpp"

#include <array>
#include <cmath>

#include "thinwire/base/text.hpp"

namespace thinwire::fabric {
namespace {

constexpr std::array<std::string_view, 3> kPolicyNames = {"retransmit", "skip", "reuse"};

/// One hash after the other: every number changes all draws behind it.
std::uint64_t seed_of(std::uint64_t seed, ExchangeNumber number, int from, int to) {
  for (const std::uint64_t part :
       {number.inference, number.exchange, static_cast<std::uint64_t>(from),
        static_cast<std::uint64_t>(to)})
    seed = RandomStream("message", seed).bits(part);
  return seed;
}

}  // namespace

OnLoss parse_on_loss(std::string_view name) {
  return static_cast<OnLoss>(name_index("on-loss", name, kPolicyNames));
}

std::string_view to_string(OnLoss policy) {
  return kPolicyNames[static_cast<std::size_t>(policy)];
}

/// The sum over k of the probability that k transmissions have not been enough.
double Loss::mean_transmissions(int receivers) const {
  if (!repeats()) return 1;
  constexpr double kNegligible = 1e-12;
  double sum = 0;
  for (double lost = 1; receivers * lost > kNegligible; lost *= probability)
    sum += 1 - std::pow(1 - lost, receivers);
  return sum;
}

MessageLosses::MessageLosses(const Loss& loss, ExchangeNumber number, int from, int to)
    : probability_(loss.probability), packets_("packet", seed_of(loss.seed, number, from, to)) {}

/// By comparisons and products alone, which every machine rounds alike.
int MessageLosses::transmissions(std::int64_t packet) const {
  const double value = draw(packet);
  int count = 1;
  for (double all_lost = probability_; value < all_lost; all_lost *= probability_) ++count;
  return count;
}

double MessageLosses::draw(std::int64_t packet) const {
  constexpr double kUnit = 1.0 / (std::uint64_t{1} << 53);
  return static_cast<double>(packets_.bits(static_cast<std::uint64_t>(packet)) >> 11) * kUnit;
}

}  // namespace thinwire::fabric
