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
/// `least` rows or more, so that the objective is low. Goes from the best of equal shares, shares
/// in proportion to speed and `start` (rows of a similar case, or empty) downhill: rows move from
/// one device to another, many at a time at first, single ones in the end. A minimum among all
/// divisions that one such move leads to; of up to eight devices every pair is tried, of more the
/// fastest and the slowest with all others. At most `evaluations` calls of the objective.
/// Throws InputError when there are fewer than `least` rows a device.
RowChoice search_rows(Index count, Index least, std::span<const double> speeds,
                      const RowObjective& objective, std::span<const Index> start = {},
                      int evaluations = 2000);

}  // namespace thinwire::cost
