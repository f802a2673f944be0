#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "index_table_layout.hpp"
#include "thinwire/compress/index_statistics.hpp"

namespace thinwire::compress {

/// Where lists are spread out, one at a time, to be looked up in by index. As large as an index can
/// be, on the stack of who codes a frame; only what the codewords need is written.
class SpreadList {
 public:
  explicit SpreadList(std::size_t codewords) : codewords_(codewords) { clear(); }

  /// Instead of the list before.
  void put(const Successors& list) {
    if (++list_ == kLists) clear();
    for (std::size_t i = 0; i < list.size(); ++i)
      costs_[list.indices[i]] = static_cast<std::uint16_t>(list_ << 8 | list.cost(i));
  }
  /// -1: not listed
  int cost(std::uint16_t index) const {
    const int found = costs_[index];
    return found >> 8 == list_ ? found & 0xFF : -1;
  }

 private:
  static constexpr int kLists = 256;

  /// Forgets all lists: theirs is none of the numbers from 1 on.
  void clear() {
    std::fill_n(costs_.begin(), codewords_, 0);
    list_ = 1;
  }

  std::size_t codewords_;
  int list_ = 1;
  std::array<std::uint16_t, 65536> costs_;  // the list's number, then the cost
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
/// `spread` is used for that.
///   frequency = p(i | base) * product over the others of (p(i | other) / p(i))^weight
bool find_successors(const TableLayout& tables, Family family, const IndexContext& context,
                     bool is_weighed, SpreadList& spread, SuccessorFrequencies& result);

}  // namespace thinwire::compress
