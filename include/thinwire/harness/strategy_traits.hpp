#pragma once
#include <optional>
#include <string_view>

#include "thinwire/compress/index_coding.hpp"

namespace thinwire::harness {

/// What options a strategy has a use for; derived from its registry entry where that says it.
struct StrategyTraits {
  bool splits_tokens = false;  ///< the sequence-parallel family: exchanges that may overlap
  bool overlaps = false;       ///< by default
  bool is_exact = false;       ///< the single device's answer, but for rounding
  /// With the strategy's default switches.
  std::optional<compress::CodebookUse> codebooks;

  bool has_codebooks() const { return codebooks.has_value(); }
  /// Squared distance, groups, indices without a frame: ASTRA.
  bool has_groups() const { return codebooks && codebooks->is_squared(); }
  bool has_buffers() const { return codebooks && codebooks->buffers != compress::Buffers::off; }
};

/// Whether a strategy's method is to send rows of activations (voltage, prism), whose format is
/// open. What others send of the kind, sums of tensor, hand-overs of pipeline and raw rows of
/// exchange 0, is fp32.
constexpr bool sends_rows(std::string_view strategy) {
  return strategy == "voltage" || strategy == "prism";
}

/// Throws InputError with the known names.
StrategyTraits traits_of(std::string_view strategy);

}  // namespace thinwire::harness
