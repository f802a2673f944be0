#pragma once
#include <algorithm>
#include <span>
#include <vector>

#include "thinwire/base/partition.hpp"

namespace thinwire::strategy {

/// How one sequence lies over the devices of a pass, and which part is this device's.
struct Layout {
  std::vector<Slice> slices;  ///< one a device, tiling [0, tokens)
  int device = 0;

  Index tokens() const { return slices.back().end(); }
  int devices() const { return static_cast<int>(slices.size()); }
  Slice local() const { return slices[static_cast<std::size_t>(device)]; }
  Index local_tokens() const { return local().size; }
  Index remote_tokens() const { return tokens() - local_tokens(); }
};

/// N of the longest sequence.
inline Index longest(std::span<const Layout> layouts) {
  return std::ranges::max(layouts, {}, &Layout::tokens).tokens();
}

}  // namespace thinwire::strategy
