#pragma once
#include <cstdint>

#include "thinwire/base/types.hpp"

namespace thinwire::cost {

// The papers' tables print rounded figures, some of them at a tie (ACCOUNTING 2): 98.5 tokens
// print 99, and 131 / 40 = 3.275 prints 3.28 although the nearest double lies below 3.275.

/// numerator / denominator, denominator > 0.
struct Fraction {
  std::int64_t numerator = 0;
  std::int64_t denominator = 1;

  double value() const { return static_cast<double>(numerator) / static_cast<double>(denominator); }
};

/// Rounds half up (ties towards plus infinity), in integers: exact for every fraction.
double round_half_up(Fraction value, int decimals);
/// The same for a number whose tie, if any, is a double as well.
double round_half_up(double value, int decimals);

/// A token figure such as Prediction::pdplc_tokens as the tables print it. Exact: a tie between
/// integers is a double.
Index printed_tokens(double tokens);

/// CR of the ViT and BERT rows before it is rounded: printed Voltage tokens / printed PRISM tokens
/// (the GPT-2 rows print the rate that was asked for).
Fraction table_compression_rate(double voltage_tokens, double prism_tokens);
/// The same, with the two decimals that the tables show.
double printed_compression_rate(double voltage_tokens, double prism_tokens);

/// "Comp. speed-up %": 100 * (1 - per device / single), where per device = total / P.
double speedup_percent(std::int64_t total_flops, int devices, std::int64_t single_flops);

/// "Comm. speed-up %": 100 * (1 - 1 / CR), with an unrounded CR.
double comm_speedup_percent(double compression_rate);

}  // namespace thinwire::cost
