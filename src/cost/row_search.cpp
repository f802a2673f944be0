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

std::vector<Index> sizes_of(const std::vector<Slice>& slices) {
  std::vector<Index> sizes;
  for (const Slice& slice : slices) sizes.push_back(slice.size);
  return sizes;
}

/// Who gives rows to whom.
using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;

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

/// The best division so far, and how many more may be tried.
class Descent {
 public:
  Descent(const RowObjective& objective, Index least, int evaluations)
      : objective_(objective), least_(least), left_(evaluations) {}

  /// Takes `rows` if they are better than all before.
  bool consider(const std::vector<Index>& rows) {
    if (left_ <= 0 || rows == best_.rows || std::ranges::min(rows) < least_) return false;
    --left_;
    const RowCost cost = objective_(rows);
    if (!best_.rows.empty() && !(cost < best_.cost)) return false;
    best_ = {rows, cost};
    return true;
  }

  /// Moves `step` rows at a time for as long as that helps.
  void descend(Index step, const Pairs& pairs) {
    bool has_moved = true;
    while (has_moved && left_ > 0) {
      has_moved = false;
      for (const auto& [from, to] : pairs) {
        std::vector<Index> rows = best_.rows;
        rows[from] -= step;
        rows[to] += step;
        has_moved = consider(rows) || has_moved;
      }
    }
  }

  const RowChoice& best() const { return best_; }

 private:
  const RowObjective& objective_;
  Index least_;
  int left_;
  RowChoice best_;
};

}  // namespace

RowChoice search_rows(Index count, Index least, std::span<const double> speeds,
                      const RowObjective& objective, std::span<const Index> start,
                      int evaluations) {
  const auto devices = static_cast<int>(speeds.size());
  require_input(least >= 1 && least * devices <= count,
                "{} rows cannot be divided among {} devices with {} or more each", count, devices,
                least);
  Descent descent(objective, least, std::max(evaluations, 3));
  descent.consider(sizes_of(partition(count, devices, PartitionPolicy::balanced)));
  descent.consider(sizes_of(partition(count, devices, PartitionPolicy::weighted, speeds)));
  if (!start.empty()) descent.consider({start.begin(), start.end()});
  const Pairs pairs = pairs_of(speeds);
  // From near the goal, large moves lead nowhere.
  const auto share = static_cast<std::uint64_t>(std::max<Index>(1, count / (4 * devices)));
  for (auto step = start.empty() ? static_cast<Index>(std::bit_floor(share)) : Index{1}; step >= 1;
       step /= 2)
    descent.descend(step, pairs);
  return descent.best();
}

}  // namespace thinwire::cost
