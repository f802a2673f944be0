#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "index_table_layout.hpp"
#include "thinwire/compress/index_statistics.hpp"

namespace thinwire::compress {

/// A list of successors fits side by side in as many lanes, its escape behind the last: one step
/// for all of them where a loop over the list would wait for its end to be guessed.
constexpr std::uint16_t kLanes = 32;
static_assert(kMostSuccessors + 1 == kLanes);

/// The frequencies of a context's successors, in order, and of "none of them" behind the last.
struct SuccessorFrequencies {
  std::span<const std::uint16_t> indices;
  alignas(64) std::array<std::uint16_t, kLanes> lanes;        ///< the indices, whatever behind them
  alignas(64) std::array<std::uint16_t, kLanes> frequencies;  ///< 0 behind the escape's
  std::uint32_t total = 0;

  std::size_t size() const { return indices.size(); }
};

/// After which index the successors of `family` are listed where an index has this context; -1:
/// none.
inline std::int32_t base_of(Family family, const IndexContext& context) {
  return family == Family::previous  ? context.previous
         : family == Family::earlier ? context.earlier
                                     : context.neighbour;
}

/// Fills `result` with the successors of `family` in this context; false if it has no such list.
/// Where `is_weighed`, what the other families say about the same indices counts by their weights.
///   frequency = p(i | base) * product over the others of (p(i | other) / p(i))^weight
bool find_successors(const TableLayout& tables, Family family, const IndexContext& context,
                     bool is_weighed, SuccessorFrequencies& result);

}  // namespace thinwire::compress
