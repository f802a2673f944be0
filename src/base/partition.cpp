#include "thinwire/base/partition.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>

#include "thinwire/base/error.hpp"
#include "thinwire/base/text.hpp"

namespace thinwire {
namespace {

constexpr std::array<std::string_view, 4> kPolicyNames = {"paper", "balanced", "weighted", "auto"};

std::vector<Index> paper_sizes(Index count, int devices) {
  std::vector<Index> sizes(static_cast<std::size_t>(devices), count / devices);
  sizes.back() += count % devices;
  return sizes;
}

std::vector<Index> balanced_sizes(Index count, int devices) {
  std::vector<Index> sizes(static_cast<std::size_t>(devices), count / devices);
  for (Index extra = 0; extra < count % devices; ++extra) ++sizes[static_cast<std::size_t>(extra)];
  return sizes;
}

void check_weights(std::span<const double> weights, int devices) {
  require_input(std::ssize(weights) == devices,
                "partition=weighted needs a speed for each of {} devices, {} given", devices,
                weights.size());
  for (const double weight : weights)
    require_input(weight > 0 && std::isfinite(weight),
                  "partition=weighted with a speed of {} (speeds are positive numbers)", weight);
}

/// The largest remainder method alone: a slow device may get no row.
std::vector<Index> proportional_sizes(Index count, std::span<const double> weights) {
  // Rounded quotas, so that ties and whole numbers survive the rounding of the division.
  constexpr double kGrain = 1e-9;
  // Scaled by the largest, so that the sum cannot overflow.
  const double largest = *std::ranges::max_element(weights);
  double sum = 0;
  for (const double weight : weights) sum += weight / largest;
  std::vector<Index> sizes;
  std::vector<std::int64_t> remainders;
  for (const double weight : weights) {
    const double quota = static_cast<double>(count) * (weight / largest / sum);
    sizes.push_back(static_cast<Index>(std::floor(quota + kGrain)));
    remainders.push_back(std::llround((quota - static_cast<double>(sizes.back())) / kGrain));
  }
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t i) { return remainders[i]; });
  const Index left = count - std::accumulate(sizes.begin(), sizes.end(), Index{0});
  for (Index i = 0; i < left; ++i) ++sizes[order[static_cast<std::size_t>(i) % order.size()]];
  return sizes;
}

std::vector<Index> weighted_sizes(Index count, std::span<const double> weights) {
  std::vector<Index> sizes = proportional_sizes(count, weights);
  for (Index& size : sizes) {
    if (size > 0) continue;
    --*std::ranges::max_element(sizes);  // the device with most rows can spare one
    size = 1;
  }
  return sizes;
}

std::vector<Index> slice_sizes(Index count, int devices, PartitionPolicy policy,
                               std::span<const double> weights) {
  switch (policy) {
    case PartitionPolicy::paper:
      return paper_sizes(count, devices);
    case PartitionPolicy::balanced:
      return balanced_sizes(count, devices);
    case PartitionPolicy::weighted:
    case PartitionPolicy::automatic:
      check_weights(weights, devices);
      return weighted_sizes(count, weights);
  }
  throw Error("a partition policy out of range");
}

}  // namespace

PartitionPolicy parse_partition_policy(std::string_view name) {
  return static_cast<PartitionPolicy>(name_index("partition", name, kPolicyNames));
}

std::string_view to_string(PartitionPolicy policy) {
  return kPolicyNames[static_cast<std::size_t>(policy)];
}

std::vector<Slice> partition(Index count, int devices, PartitionPolicy policy,
                             std::span<const double> weights) {
  require_input(devices >= 1, "devices={} (at least one is needed)", devices);
  require_input(devices <= count, "devices={} cannot share {} (each needs at least one)", devices,
                count);
  std::vector<Slice> slices;
  Index begin = 0;
  for (const Index size : slice_sizes(count, devices, policy, weights)) {
    slices.push_back({begin, size});
    begin += size;
  }
  TW_REQUIRE(begin == count, "a partition of {} rows into {}", count, begin);
  return slices;
}

}  // namespace thinwire
