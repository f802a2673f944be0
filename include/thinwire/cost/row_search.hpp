#pragma once
#include <compare>
#include <functional>
#include <span>
#include <vector>

#include "thinwire/base/types.hpp"

namespace thinwire::cost {

/// What a division of the rows costs: the smaller, the better, compared in this order.
struct RowCost {
  double lacking_bytes = 0;  ///< memory that devices lack
  double latency_s = 0;      ///< of an iteration
  /// Of equally fast divisions: the sum of the squares of the devices' compute times, in s^2. Where
  /// two devices end last together, no single move makes the latency shorter; this leads on.
  double imbalance = 0;

  auto operator<=>(const RowCost&) const = default;
};

/// Rows [P] -> their cost. Pure: equal rows cost the same.
using RowObjective = std::function<RowCost(std::span<const Index> rows)>;

struct RowChoice {
  std::vector<Index> rows;
  RowCost cost;
};

/// Divides `count` rows, in device order, among as many devices as there are `speeds`, each of them
/// `least` rows or more, so that the objective is low. Goes downhill from equal shares, from shares
/// in proportion to speed and, of up to four devices, from nearly all rows on one of them; or from
/// `start` alone, the rows of a similar case. Rows move from one device to another, many at a time
/// at first, single ones in the end, until no move helps; of up to four devices no two moves
/// together either. Of up to eight devices every pair is tried, of more the fastest and the slowest
/// with all others. Calls the objective at most `evaluations` times
/// (but once a starting point).
/// Throws InputError when there are fewer than `least` rows a device.
RowChoice search_rows(Index count, Index least, std::span<const double> speeds,
                      const RowObjective& objective, std::span<const Index> start = {},
                      int evaluations = 2000);

}  // namespace thinwire::cost
