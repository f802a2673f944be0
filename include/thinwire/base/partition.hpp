#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "thinwire/base/types.hpp"

namespace thinwire {

/// Consecutive rows [begin, begin + size) of a sequence.
struct Slice {
  Index begin = 0;
  Index size = 0;
  Index end() const { return begin + size; }
  bool operator==(const Slice&) const = default;
};

enum class PartitionPolicy {
  paper,  ///< floor(N/P) rows each, the last device also takes the remainder (PRISM, Algorithm 1)
  balanced,   ///< sizes differ by at most one, the first devices take the extra row
  weighted,   ///< in proportion to device speed, largest remainder, ties to the lower device
  automatic,  ///< as weighted; the weights are the rows that a search found (cost/row_search.hpp)
};
PartitionPolicy parse_partition_policy(std::string_view name);  // InputError with the known names
std::string_view to_string(PartitionPolicy policy);

/// Splits `count` rows (N; or heads, columns, stages) over `devices` (P). The slices tile
/// [0, count) in device order. `weights` (one positive number a device) only for `weighted`
/// and `automatic`; every device gets at least one row there too.
/// Throws InputError when devices > count: a device needs a row.
std::vector<Slice> partition(Index count, int devices, PartitionPolicy policy,
                             std::span<const double> weights = {});

}  // namespace thinwire
