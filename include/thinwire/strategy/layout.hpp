#pragma once
#include <algorithm>
#include <span>
#include <vector>

#include "thinwire/base/error.hpp"
#include "thinwire/base/partition.hpp"

namespace thinwire::strategy {

/// How one sequence lies over the devices of a pass, and which part is this device's.
struct Layout {
  std::vector<Slice> slices;  ///< one a device, tiling [replicated, tokens)
  int device = 0;
  /// Leading tokens of which every device holds a copy that is never sent (ASTRA's class token);
  /// they are the first of its local rows.
  Index replicated = 0;

  Index tokens() const { return slices.back().end(); }
  int devices() const { return static_cast<int>(slices.size()); }
  /// The tokens that this device owns and publishes.
  Slice local() const { return slices[static_cast<std::size_t>(device)]; }
  Index local_tokens() const { return local().size; }
  /// Rows it computes: its copies, then the tokens it owns.
  Index local_rows() const { return replicated + local_tokens(); }
  /// Rows that its peers publish.
  Index remote_tokens() const { return tokens() - replicated - local_tokens(); }
  /// Global position of a local row.
  Index position(Index row) const {
    return row < replicated ? row : local().begin + row - replicated;
  }
};

/// The layout of a sequence of `tokens`. Throws Error when that length was not announced.
inline const Layout& layout_of(std::span<const Layout> layouts, Index tokens) {
  const auto found = std::ranges::find(layouts, tokens, &Layout::tokens);
  TW_REQUIRE(found != layouts.end(), "a sequence of {} tokens was not announced", tokens);
  return *found;
}

/// N of the longest sequence.
inline Index longest(std::span<const Layout> layouts) {
  return std::ranges::max(layouts, {}, &Layout::tokens).tokens();
}

/// Most rows that the device computes in any of them.
inline Index most_local_rows(std::span<const Layout> layouts) {
  return std::ranges::max(layouts, {}, &Layout::local_rows).local_rows();
}

/// Most rows that its peers publish in any of them.
inline Index most_remote_tokens(std::span<const Layout> layouts) {
  return std::ranges::max(layouts, {}, &Layout::remote_tokens).remote_tokens();
}

}  // namespace thinwire::strategy
