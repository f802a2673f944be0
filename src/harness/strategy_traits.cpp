#include "thinwire/harness/strategy_traits.hpp"

#include "thinwire/base/named.hpp"
#include "thinwire/strategy/strategy.hpp"

namespace thinwire::harness {

StrategyTraits traits_of(std::string_view strategy) {
  const strategy::StrategyEntry& entry = find_named("strategy", strategy, strategy::strategies());
  const bool is_trace = entry.codebooks && !entry.codebooks->is_squared();
  return {.splits_tokens = entry.splits_tokens,
          .overlaps = is_trace,
          .is_exact = entry.is_exact,
          .codebooks = entry.codebooks};
}

}  // namespace thinwire::harness
