#include "fabric/node_telling.hpp"

#include <algorithm>

namespace thinwire::fabric {

std::int64_t NodeTelling::memory_bytes(std::uint32_t ranks) {
  return static_cast<std::int64_t>(sizeof(Shared) + std::size_t{2} * ranks * sizeof(Place));
}

NodeTelling::NodeTelling(std::byte* memory, std::uint32_t ranks, std::uint32_t rank)
    : shared_(*reinterpret_cast<Shared*>(memory)),
      places_(reinterpret_cast<Place*>(memory + sizeof(Shared)), std::size_t{2} * ranks),
      ranks_(ranks),
      rank_(rank) {}

bool NodeTelling::meet(const std::atomic<bool>& is_abandoned, std::chrono::nanoseconds patience) {
  return shared_.barrier.wait(shared_.barrier.arrive(ranks_), is_abandoned, patience);
}

/// One meeting is enough for a telling: who writes to a place has left the last telling, which all
/// entered after reading what was told in the one before, in the other generation of places.
std::span<NodeTelling::Place> NodeTelling::next_places() {
  return places_.subspan(std::size_t{told_++ % 2} * ranks_, ranks_);
}

bool NodeTelling::tell(std::span<const std::byte> mine, std::span<std::byte> all,
                       const std::atomic<bool>& is_abandoned, std::chrono::nanoseconds patience) {
  const std::span<Place> places = next_places();
  Place& own = places[rank_];
  const std::uint32_t before = own.told.load();
  std::ranges::copy(mine, own.bytes);
  const NodeBarrier::Arrival arrival = shared_.barrier.arrive(ranks_);
  // After the arrival, so that who has seen all places knows that all have been counted, and may
  // go on to the next meeting. Places are written once a telling; the barrier's memory, which all
  // change, would be fetched back and forth by those who look at it.
  own.told.store(before + 1);
  const auto has_told = [&](const Place& place) {
    return changes_within(place.told, before, patience);
  };
  if (patience.count() == 0 || !std::ranges::all_of(places, has_told))
    if (!shared_.barrier.wait(arrival, is_abandoned, patience)) return false;
  std::byte* next = all.data();
  for (const Place& place : places) next = std::copy_n(place.bytes, mine.size(), next);
  return true;
}

}  // namespace thinwire::fabric
