#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "index_table_layout.hpp"
#include "thinwire/compress/index_statistics.hpp"

namespace thinwire::compress {

/// Where a list is spread out to be looked up in: by index, one more than the cost; 0: not listed.
/// As large as an index is, on the stack of who codes a frame; only what codewords need is written.
class SpreadList {
 public:
  explicit SpreadList(std::size_t codewords) { std::fill_n(costs_.begin(), codewords, 0); }

  void put(const Successors& list) {
    for (std::size_t i = 0; i < list.size(); ++i)
      costs_[list.indices[i]] = static_cast<std::uint8_t>(list.cost(i) + 1);
  }
  void remove(const Successors& list) {
    for (const std::uint16_t index : list.indices) costs_[index] = 0;
  }
  int operator[](std::uint16_t index) const { return costs_[index]; }

 private:
  std::array<std::uint8_t, 65536> costs_;
};

/// The frequencies of a context's successors, in order, and of "none of them" behind the last.
struct SuccessorFrequencies {
  std::span<const std::uint16_t> indices;
  std::array<std::uint32_t, kMostSuccessors + 1> frequencies;
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
/// Where `is_weighed`, what the other families say about the same indices counts by their weights:
/// `spread` is used for that, and empty before and after.
///   frequency = p(i | base) * product over the others of (p(i | other) / p(i))^weight
bool find_successors(const TableLayout& tables, Family family, const IndexContext& context,
                     bool is_weighed, SpreadList& spread, SuccessorFrequencies& result);

}  // namespace thinwire::compress
