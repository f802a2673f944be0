#include "index_model.hpp"

#include <cstring>

namespace thinwire::compress {
namespace {

// Costs are in quarters here, so that weights stay whole.
constexpr int kQuarters = 4;
/// More than any.
constexpr std::int16_t kNoCost = 0x3FFF;

/// As many lanes as a register holds, and all lanes of a list.
#if defined(__AVX512BW__)
constexpr std::size_t kPartBytes = 64;
#elif defined(__AVX2__)
constexpr std::size_t kPartBytes = 32;
#else
constexpr std::size_t kPartBytes = 16;
#endif
constexpr std::size_t kPartLanes = kPartBytes / sizeof(std::int16_t);
using Part [[gnu::vector_size(kPartBytes)]] = std::int16_t;
using Lanes = std::array<Part, kLanes / kPartLanes>;
using Values = std::array<std::int16_t, kLanes>;

Part all(int value) {
  return Part{} + static_cast<std::int16_t>(value);
}

/// of(part) of every part.
template <class Of>
inline Lanes each(const Of& of) {
  Lanes lanes;
  for (std::size_t part = 0; part < lanes.size(); ++part) lanes[part] = of(part);
  return lanes;
}

/// 0, 1, 2, ...
Lanes places() {
  constexpr Values kPlaces = [] {
    Values places{};
    for (std::size_t i = 0; i < kLanes; ++i) places[i] = static_cast<std::int16_t>(i);
    return places;
  }();
  return std::bit_cast<Lanes>(kPlaces);
}

/// The last elements of `from`, whatever of a part they fill.
template <class Vector, class T>
[[gnu::noinline]] Vector load_last(std::span<const T> from) {
  Vector vector{};
  std::memcpy(&vector, from.data(), std::min(sizeof vector, from.size_bytes()));
  return vector;
}

/// The first kLanes elements of `from`, a part at a time as `Vector`s that hold as many each; 0 for
/// what lies behind the end.
template <class Vector, class T>
inline Vector load(std::span<const T> from, std::size_t part) {
  const std::size_t first = part * kPartLanes;
  if (from.size() < first + kPartLanes)
    return load_last<Vector>(from.subspan(std::min(first, from.size())));
  Vector vector;
  std::memcpy(&vector, from.data() + first, sizeof vector);
  return vector;
}

/// What each successor costs, and behind the last one the escape.
Lanes quarters_of(const Successors& list) {
  using Bytes [[gnu::vector_size(kPartLanes)]] = std::uint8_t;
  const Part size = all(static_cast<int>(list.size()));
  const auto bytes = std::as_bytes(list.costs).subspan(list.first);
  return each([&](std::size_t part) {
    const Part costs = all(kQuarters) * __builtin_convertvector(load<Bytes>(bytes, part), Part);
    const Part upto = places()[part] == size ? all(kQuarters * list.escape) : costs;
    return places()[part] <= size ? upto : all(kNoCost);
  });
}

/// What `list` says about `indices` beyond what is true of each of them anyway.
Lanes evidence_of(const TableLayout& tables, const Successors& list, const Lanes& indices) {
  const std::size_t size = std::min(list.size(), kMostEvidence);
  std::array<std::int16_t, kMostEvidence> listed;
  for (std::size_t i = 0; i < size; ++i)
    listed[i] = static_cast<std::int16_t>(list.cost(i) - tables.cost_alone(list.indices[i]));
  return each([&](std::size_t part) {
    // An index that is not listed comes by way of the escape, and then as often as it does alone.
    Part evidence = all(list.escape);
    for (std::size_t i = 0; i < size; ++i)
      evidence = indices[part] == all(list.indices[i]) ? all(listed[i]) : evidence;
    return evidence;
  });
}

/// Adds what the other families say about the `size` successors of `family` to their quarters.
void weigh(const TableLayout& tables, Family family, const IndexContext& context,
           const Lanes& indices, std::size_t size, Lanes& quarters) {
  const Part upto = all(static_cast<int>(size));
  for (const Family other : {Family::previous, Family::earlier, Family::neighbour}) {
    const std::int32_t known = base_of(other, context);
    if (other == family || known < 0 || !tables.has(other) || tables.weight(other) == 0) continue;
    const Part weight = all(tables.weight(other));
    const Successors list = tables.successors(other, static_cast<std::size_t>(known));
    const Lanes evidence = evidence_of(tables, list, indices);
    for (std::size_t part = 0; part < quarters.size(); ++part)
      quarters[part] += places()[part] < upto ? weight * evidence[part] : Part{};
  }
}

int least_of(const Lanes& lanes) {
  const auto values = std::bit_cast<Values>(lanes);
  std::int16_t least = kNoCost;
#pragma omp simd reduction(min : least)
  for (std::size_t i = 0; i < kLanes; ++i) least = std::min(least, values[i]);
  return least;
}

std::uint32_t sum_of(const std::array<std::uint16_t, kLanes>& frequencies) {
  std::uint32_t sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::size_t i = 0; i < kLanes; ++i) sum += frequencies[i];
  return sum;
}

/// frequency(excess), as a tree of choices, since looking up would be done lane by lane.
Part frequencies_of(Part excess) {
  const auto of = [](int eighths) { return all(static_cast<int>(frequency(eighths))); };
  const Part zero{};
  const auto is_odd = (excess & 1) != zero;
  const auto is_second = (excess & 2) != zero;
  const Part low = is_second ? (is_odd ? of(3) : of(2)) : (is_odd ? of(1) : of(0));
  const Part high = is_second ? (is_odd ? of(7) : of(6)) : (is_odd ? of(5) : of(4));
  return ((excess & 4) != zero ? high : low) >>
         (excess >> std::countr_zero(unsigned{kCostsPerBit}));
}

void set_frequencies(const Lanes& quarters, int least, SuccessorFrequencies& result) {
  const Part most = all(kMostExcess);
  const Part size = all(static_cast<int>(result.size()));
  const Lanes frequencies = each([&](std::size_t part) {
    const Part excess = (quarters[part] - all(least)) >> std::countr_zero(unsigned{kQuarters});
    return places()[part] <= size ? frequencies_of(excess < most ? excess : most) : Part{};
  });
  result.frequencies = std::bit_cast<std::array<std::uint16_t, kLanes>>(frequencies);
  result.total = sum_of(result.frequencies);
}

}  // namespace

bool find_successors(const TableLayout& tables, Family family, const IndexContext& context,
                     bool is_weighed, SuccessorFrequencies& result) {
  const std::int32_t base = base_of(family, context);
  if (base < 0 || !tables.has(family)) return false;
  const Successors list = tables.successors(family, static_cast<std::size_t>(base));
  if (list.size() == 0) return false;
  result.indices = {list.indices.data(), list.size()};
  const Lanes indices = each([&](std::size_t part) { return load<Part>(list.following, part); });
  result.lanes = std::bit_cast<std::array<std::uint16_t, kLanes>>(indices);
  Lanes quarters = quarters_of(list);
  // A sole successor is all but certain: evidence would change next to nothing.
  const bool is_changed = is_weighed && list.size() > 1;
  if (is_changed) weigh(tables, family, context, indices, list.size(), quarters);
  set_frequencies(quarters, is_changed ? least_of(quarters) : 0, result);
  return true;
}

}  // namespace thinwire::compress
