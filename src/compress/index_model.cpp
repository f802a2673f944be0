#include "index_model.hpp"

namespace thinwire::compress {
namespace {

constexpr int kQuarters = 4;

/// Adds to `costs` what `list` says about `indices` beyond what is true of each index anyway.
void weigh(const TableLayout& tables, const Successors& list, int weight,
           std::span<const std::uint16_t> indices, SpreadList& spread,
           std::span<std::int32_t> costs) {
  spread.put(tables, list);
  // An index that is not listed comes by way of the escape, and then as often as it does alone.
  const std::int32_t otherwise = list.escape;
  std::int32_t* const cost = costs.data();
#pragma omp simd
  for (std::size_t i = 0; i < indices.size(); ++i)
    cost[i] += weight * spread.evidence(indices[i], otherwise);
}

void set_alone(const Successors& list, SuccessorFrequencies& result) {
  std::uint32_t total = 0;
  for (std::size_t i = 0; i < list.size(); ++i)
    total += result.frequencies[i] = kExcessFrequencies[static_cast<std::size_t>(list.cost(i))];
  result.frequencies[list.size()] = kExcessFrequencies[static_cast<std::size_t>(list.escape)];
  result.total = total + result.frequencies[list.size()];
}

void set_weighed(const TableLayout& tables, Family family, const IndexContext& context,
                 const Successors& list, SpreadList& spread, SuccessorFrequencies& result) {
  // Costs times four, so that weights stay whole; the escape's is the last.
  std::array<std::int32_t, kMostSuccessors + 1> quarters;
  const std::span<std::int32_t> costs(quarters.data(), list.size() + 1);
  for (std::size_t i = 0; i < list.size(); ++i) costs[i] = kQuarters * list.cost(i);
  costs.back() = kQuarters * list.escape;
  for (const Family other : {Family::previous, Family::earlier, Family::neighbour}) {
    const std::int32_t known = base_of(other, context);
    if (other == family || known < 0 || !tables.has(other)) continue;
    if (const int weight = tables.weight(other); weight > 0)
      weigh(tables, tables.successors(other, static_cast<std::size_t>(known)), weight, list.indices,
            spread, costs);
  }
  std::int32_t least = costs.back();
  for (const std::int32_t cost : costs) least = std::min(least, cost);
  std::uint32_t total = 0;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    const unsigned excess = static_cast<unsigned>(costs[i] - least) / kQuarters;
    const std::uint32_t frequency =
        kExcessFrequencies[std::min(excess, static_cast<unsigned>(kMostExcess))];
    result.frequencies[i] = frequency;
    total += frequency;
  }
  result.total = total;
}

}  // namespace

bool find_successors(const TableLayout& tables, Family family, const IndexContext& context,
                     bool is_weighed, SpreadList& spread, SuccessorFrequencies& result) {
  const std::int32_t base = base_of(family, context);
  if (base < 0 || !tables.has(family)) return false;
  const Successors list = tables.successors(family, static_cast<std::size_t>(base));
  if (list.size() == 0) return false;
  result.indices = list.indices;
  // A sole successor is all but certain: evidence would change next to nothing.
  if (is_weighed && list.size() > 1)
    set_weighed(tables, family, context, list, spread, result);
  else
    set_alone(list, result);
  return true;
}

}  // namespace thinwire::compress
