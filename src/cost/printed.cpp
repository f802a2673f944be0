#include "thinwire/cost/printed.hpp"

#include <cmath>

#include "thinwire/base/error.hpp"

namespace thinwire::cost {
namespace {

double power_of_ten(int exponent) {
  double power = 1;
  for (int i = 0; i < exponent; ++i) power *= 10;
  return power;
}

}  // namespace

double round_half_up(Fraction value, int decimals) {
  const auto [numerator, denominator] = value;
  TW_REQUIRE(denominator > 0 && decimals >= 0, "{}/{} to {} decimals", numerator, denominator,
             decimals);
  // Long division, digit by digit: numerator * 10^decimals could overflow. The remainder is kept
  // non-negative, so that "half up" needs no second case for negative numbers.
  std::int64_t quotient = numerator / denominator, remainder = numerator % denominator;
  if (remainder < 0) {
    --quotient;
    remainder += denominator;
  }
  for (int digit = 0; digit < decimals; ++digit) {
    quotient = 10 * quotient + 10 * remainder / denominator;
    remainder = 10 * remainder % denominator;
  }
  if (remainder >= denominator - remainder) ++quotient;
  return static_cast<double>(quotient) / power_of_ten(decimals);
}

double round_half_up(double value, int decimals) {
  const double scale = power_of_ten(decimals);
  return std::floor(value * scale + 0.5) / scale;
}

Index printed_tokens(double tokens) {
  return static_cast<Index>(round_half_up(tokens, 0));
}

Fraction table_compression_rate(double voltage_tokens, double prism_tokens) {
  const Fraction rate{printed_tokens(voltage_tokens), printed_tokens(prism_tokens)};
  TW_REQUIRE(rate.denominator > 0, "{} PRISM tokens beside {} Voltage tokens", prism_tokens,
             voltage_tokens);
  return rate;
}

double printed_compression_rate(double voltage_tokens, double prism_tokens) {
  return round_half_up(table_compression_rate(voltage_tokens, prism_tokens), 2);
}

double speedup_percent(std::int64_t total_flops, int devices, std::int64_t single_flops) {
  const double per_device = static_cast<double>(total_flops) / devices;
  return 100 * (1 - per_device / static_cast<double>(single_flops));
}

double comm_speedup_percent(double compression_rate) {
  return 100 * (1 - 1 / compression_rate);
}

}  // namespace thinwire::cost
