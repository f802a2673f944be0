#pragma once
#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "thinwire/base/types.hpp"

namespace thinwire::compress {

/// What sender and receiver both know of a frame's tokens before the frame: positions in the
/// codebooks of earlier exchanges, as many as the frame has indices and in their order.
struct KnownIndices {
  std::span<const std::int32_t> previous;  ///< of the exchange before; empty: none
  std::span<const std::int32_t> earlier;   ///< of the one before that; empty: none
};

/// What an index is coded by.
struct IndexContext {
  std::int32_t previous = -1;   ///< the token's index at the exchange before, -1: none
  std::int32_t earlier = -1;    ///< its index two exchanges before
  std::int32_t neighbour = -1;  ///< the index before it in the frame, of the same group
  auto operator<=>(const IndexContext&) const = default;
};

/// The context of a frame's index `i` where the indices of `groups` groups take turns.
inline IndexContext context_of(std::span<const std::int32_t> indices, const KnownIndices& known,
                               std::size_t i, std::size_t groups) {
  return {.previous = known.previous.empty() ? -1 : known.previous[i],
          .earlier = known.earlier.empty() ? -1 : known.earlier[i],
          .neighbour = i < groups ? -1 : indices[i - groups]};
}

/// Counts which indices occur in which contexts, for one exchange, group and level: what
/// IndexTables are made of.
class IndexStatistics {
 public:
  struct Entry {
    IndexContext context;
    std::int32_t index = 0, count = 0;
    bool operator==(const Entry&) const = default;
  };

  /// codewords: of the level that is sent (K_m)   contexts: of the finest level (K), what the
  /// indices of earlier exchanges are below, whatever level they were sent on.
  /// Throws Error unless 1 <= codewords <= contexts <= 65536.
  IndexStatistics(Index codewords, Index contexts);

  Index codewords() const { return codewords_; }
  Index contexts() const { return contexts_; }

  /// Counts one frame's indices [n * groups], those of `group` only.
  /// Throws Error for indices out of range or spans of different sizes.
  void add(std::span<const std::int32_t> indices, const KnownIndices& known, Index group = 0,
           Index groups = 1);
  /// Adds what another rank counted, as flat() gave it. Throws Error for what none can have
  /// counted.
  void merge(std::span<const std::int32_t> flat);

  /// Each context and index once, sorted: the same whatever the order of the frames.
  std::vector<Entry> entries() const;
  /// The entries [n * 5]: previous, earlier, neighbour, index, count.
  std::vector<std::int32_t> flat() const;

 private:
  void check(const Entry& entry) const;
  void append(const Entry& entry);

  Index codewords_, contexts_;
  std::vector<Entry> entries_;  // the first distinct_ are sorted, each once
  std::size_t distinct_ = 0;
};

}  // namespace thinwire::compress
