#pragma once
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "thinwire/base/error.hpp"
#include "thinwire/base/types.hpp"
#include "thinwire/fabric/transport.hpp"

namespace thinwire::harness {

/// What ranks know about their samples, in sample order on every rank: rank r of the first R that
/// share them has samples r, r + R, ... of `samples`, and `width` values of each.
template <class T>
std::vector<T> gather_in_order(fabric::Transport& ranks, std::span<const T> mine, int sharing,
                               Index samples, Index width = 1) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto all = fabric::gather_all(ranks, std::as_bytes(mine));
  std::vector<T> ordered(static_cast<std::size_t>(samples * width));
  const std::size_t bytes = static_cast<std::size_t>(width) * sizeof(T);
  std::vector<std::size_t> taken(all.size());
  for (std::size_t i = 0; i < static_cast<std::size_t>(samples); ++i) {
    const std::size_t rank = i % static_cast<std::size_t>(sharing);
    TW_REQUIRE(taken[rank] + bytes <= all[rank].size(), "rank {} sent {} bytes", rank,
               all[rank].size());
    std::memcpy(ordered.data() + i * static_cast<std::size_t>(width),
                all[rank].data() + taken[rank], bytes);
    taken[rank] += bytes;
  }
  return ordered;
}

}  // namespace thinwire::harness
