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

  /// Instead of the list before: what it says of its indices beyond what is true of each anyway.
  void put(const TableLayout& tables, const Successors& list) {
    if (++list_ == kLists) clear();
    for (std::size_t i = 0; i < list.size(); ++i) {
      const int evidence = list.cost(i) - tables.cost_alone(list.indices[i]);
      evidence_[list.indices[i]] = list_ * kPlaces + static_cast<std::uint32_t>(evidence + kZero);
    }
  }
  /// The index's evidence, `otherwise` where it is not listed.
  std::int32_t evidence(std::uint16_t index, std::int32_t otherwise) const {
    const std::uint32_t found = evidence_[index];
    return found / kPlaces == list_ ? static_cast<std::int32_t>(found % kPlaces) - kZero
                                    : otherwise;
  }

 private:
  static constexpr std::uint32_t kLists = 1 << 16, kPlaces = 1 << 16;
  static constexpr std::int32_t kZero = 1 << 15;  ///< added, so that evidence is not negative

  /// Forgets all lists: theirs is none of the numbers from 1 on.
  void clear() {
    std::fill_n(evidence_.begin(), codewords_, 0);
    list_ = 1;
  }

  std::size_t codewords_;
  std::uint32_t list_ = 1;
  std::array<std::uint32_t, 65536> evidence_;  // the list's number, then the evidence
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
