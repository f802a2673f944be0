#include "thinwire/cost/row_search.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

#include "thinwire/base/error.hpp"
#include "thinwire/base/partition.hpp"

namespace thinwire::cost {
namespace {

// Up to so many devices every pair may exchange rows.
constexpr std::size_t kMostDevices = 8;
// And up to so many, two pairs at once.
constexpr std::size_t kFewDevices = 4;

std::vector<Index> sizes_of(const std::vector<Slice>& slices) {
  std::vector<Index> sizes;
  for (const Slice& slice : slices) sizes.push_back(slice.size);
  return sizes;
}

/// Who gives rows to whom.
using Pair = std::pair<std::size_t, std::size_t>;
using Pairs = std::vector<Pair>;

std::vector<Index> moved(std::vector<Index> rows, const Pair& pair, Index step) {
  rows[pair.first] -= step;
  rows[pair.second] += step;
  return rows;
}

Pairs pairs_of(std::span<const double> speeds) {
  std::vector<std::size_t> by_speed(speeds.size());
  std::iota(by_speed.begin(), by_speed.end(), std::size_t{0});
  std::ranges::stable_sort(by_speed, {}, [&](std::size_t p) { return speeds[p]; });
  // The extremes of many devices: what they give or take matters most.
  std::vector<std::size_t> hubs = by_speed;
  if (speeds.size() > kMostDevices) hubs = {by_speed.front(), by_speed.back()};
  Pairs pairs;
  for (const std::size_t hub : hubs)
    for (const std::size_t other : by_speed) {
      if (hub == other) continue;
      pairs.emplace_back(hub, other);
      if (hubs.size() < by_speed.size()) pairs.emplace_back(other, hub);
    }
  return pairs;
}

/// One way downhill: the best division so far, and how many more may be tried.
class Descent {
 public:
  Descent(const RowObjective& objective, Index least, const std::vector<Index>& start,
          int evaluations)
      : objective_(objective),
        least_(least),
        best_{start, objective(start)},
        left_(evaluations - 1) {}

  const RowChoice& best() const { return best_; }

  /// Until no move of up to `largest` rows helps.
  void descend(Index largest, const Pairs& pairs, bool moves_twice) {
    for (bool has_moved = true; has_moved;) {
      has_moved = false;
      for (Index step = largest; step >= 1; step /= 2)
        has_moved = move_once(step, pairs) || has_moved;
      for (Index step = largest; moves_twice && step >= 1; step /= 2)
        has_moved = move_twice(step, pairs) || has_moved;
    }
  }

 private:
  /// Moves `step` rows from one to another for as long as that helps; returns whether it did.
  bool move_once(Index step, const Pairs& pairs) {
    bool has_moved = false, goes_on = true;
    while (goes_on && left_ > 0) {
      goes_on = false;
      for (const Pair& pair : pairs) goes_on = consider(moved(best_.rows, pair, step)) || goes_on;
      has_moved = has_moved || goes_on;
    }
    return has_moved;
  }

  /// Two moves at once, for where each alone makes things worse.
  bool move_twice(Index step, const Pairs& pairs) {
    bool has_moved = false;
    for (const Pair& first : pairs)
      for (const Pair& second : pairs) {
        if (left_ <= 0) return has_moved;
        const std::vector<Index> rows = moved(moved(best_.rows, first, step), second, step);
        has_moved = consider(rows) || has_moved;
      }
    return has_moved;
  }

  /// Takes `rows` if they are better than all before.
  bool consider(const std::vector<Index>& rows) {
    if (left_ <= 0 || rows == best_.rows || std::ranges::min(rows) < least_) return false;
    --left_;
    const RowCost cost = objective_(rows);
    if (!(cost < best_.cost)) return false;
    best_ = {rows, cost};
    return true;
  }

  const RowObjective& objective_;
  Index least_;
  RowChoice best_;
  int left_;
};

/// Where to start when nothing is known but the speeds.
std::vector<std::vector<Index>> starts_for(Index count, Index least,
                                           std::span<const double> speeds) {
  const auto devices = static_cast<int>(speeds.size());
  std::vector<std::vector<Index>> starts;
  for (const auto policy : {PartitionPolicy::balanced, PartitionPolicy::weighted}) {
    starts.push_back(sizes_of(partition(count, devices, policy, speeds)));
    if (std::ranges::min(starts.back()) < least) starts.pop_back();
  }
  for (std::size_t p = 0; speeds.size() <= kFewDevices && p < speeds.size(); ++p) {
    starts.emplace_back(speeds.size(), least);
    starts.back()[p] += count - least * devices;
  }
  return starts;
}

}  // namespace

RowChoice search_rows(Index count, Index least, std::span<const double> speeds,
                      const RowObjective& objective, std::span<const Index> start,
                      int evaluations) {
  const auto devices = static_cast<int>(speeds.size());
  require_input(least >= 1 && least * devices <= count,
                "{} rows cannot be divided among {} devices with {} or more each", count, devices,
                least);
  const Pairs pairs = pairs_of(speeds);
  const auto share = static_cast<std::uint64_t>(std::max<Index>(1, count / (2 * devices)));
  const std::vector<std::vector<Index>> starts =
      start.empty() ? starts_for(count, least, speeds)
                    : std::vector<std::vector<Index>>{{start.begin(), start.end()}};
  // From near the goal, large moves lead nowhere.
  const auto largest = start.empty() ? static_cast<Index>(std::bit_floor(share)) : Index{1};
  const int evaluations_each = evaluations / static_cast<int>(starts.size());
  RowChoice best;
  for (const std::vector<Index>& rows : starts) {
    Descent descent(objective, least, rows, evaluations_each);
    descent.descend(largest, pairs, speeds.size() <= kFewDevices);
    if (best.rows.empty() || descent.best().cost < best.cost) best = descent.best();
  }
  return best;
}

}  // namespace thinwire::cost
