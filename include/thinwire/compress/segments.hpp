#pragma once
#include <string_view>
#include <vector>

#include "thinwire/base/partition.hpp"
#include "thinwire/base/types.hpp"

namespace thinwire::compress {

/// How a Segment Mean enters the receiver's attention (METHODS 3.1). A formula header.
enum class Scaling {
  on,         ///< weighted by the tokens it stands for: log g on its column
  off,        ///< as a single token: g = 1 (the paper's "Duplicated? No")
  duplicate,  ///< repeated g times as real rows: what `on` avoids computing
};
Scaling parse_scaling(std::string_view name);  // InputError with the known names
std::string_view to_string(Scaling scaling);

/// Rows of each of `segments` (L) runs of `rows` (n_p) rows: equal, the last also takes the
/// remainder. Throws InputError unless 1 <= segments <= rows, naming both.
std::vector<Index> segment_lengths(Index rows, Index segments);

/// Rows of run `index` of those runs, for loops that may not allocate; the arguments are trusted.
inline Slice segment_rows(Index rows, Index segments, Index index) {
  const Index length = rows / segments;
  const Index begin = index * length;
  return {begin, index + 1 == segments ? rows - begin : length};
}

/// L = floor(N / (CR * P)), at least 1. Throws InputError unless compression_rate >= 1.
Index segments_for_rate(Index tokens, int devices, double compression_rate);

}  // namespace thinwire::compress
