#include "thinwire/harness/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "packed_json.hpp"
#include "thinwire/harness/environment.hpp"
#include "thinwire/harness/record.hpp"
#include "thinwire/ops/thread_binding.hpp"

namespace thinwire::harness {
namespace {

bool share_cores(const Placement& a, const Placement& b) {
  return a.host == b.host && a.allowed == b.allowed;
}

/// The `part`-th `threads` cores of what a placement may use; none where there are too few.
std::vector<int> cores_of_part(const Placement& place, std::size_t part, std::size_t threads) {
  if ((part + 1) * threads > place.allowed.size()) return {};
  const auto begin = place.allowed.begin() + static_cast<std::ptrdiff_t>(part * threads);
  return {begin, begin + static_cast<std::ptrdiff_t>(threads)};
}

}  // namespace

std::vector<Placement> placements(fabric::Transport& all, int devices, int threads,
                                  fabric::Clock clock) {
  const auto mine = pack_json({all.host(), ops::allowed_cores(), quota_cores()});
  std::vector<Placement> places;
  for (const auto& bytes : fabric::gather_all(all, mine)) {
    const Json theirs = unpack_json(bytes);
    places.push_back({theirs.at(0), theirs.at(1), theirs.at(2), {}});
  }
  bind_cores(places, devices, threads, clock);
  return places;
}

void bind_cores(std::span<Placement> places, int devices, int threads, fabric::Clock clock) {
  const auto team = static_cast<std::size_t>(threads);
  const auto computing = places.first(static_cast<std::size_t>(devices));
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    Placement& place = places[rank];
    const auto shares = [&](const Placement& other) { return share_cores(place, other); };
    const auto before =
        std::ranges::count_if(computing.first(std::min(rank, computing.size())), shares);
    const auto sharing = static_cast<std::size_t>(std::ranges::count_if(computing, shares));
    const bool is_alone = !fabric::is_wall_clock(clock) || rank >= computing.size();
    if (is_alone)
      place.bound = cores_of_part(place, 0, team);
    else if (sharing * team <= place.allowed.size())
      place.bound = cores_of_part(place, static_cast<std::size_t>(before), team);
  }
}

bool is_contended(std::span<const Placement> devices, int threads) {
  return std::ranges::any_of(devices, [&](const Placement& device) {
    std::set<int> cores;
    double granted = device.quota_cores;
    int wanted = 0;
    for (const Placement& other : devices) {
      if (other.host != device.host) continue;
      wanted += threads;
      granted = std::min(granted, other.quota_cores);
      cores.insert(other.allowed.begin(), other.allowed.end());
    }
    granted = std::min(granted, static_cast<double>(cores.size()));
    return wanted > granted || std::ssize(device.allowed) < threads;
  });
}

std::string core_list(std::span<const int> cores) {
  std::string text;
  for (std::size_t first = 0; first < cores.size();) {
    std::size_t last = first;
    while (last + 1 < cores.size() && cores[last + 1] == cores[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += first == last ? fmt::format("{}", cores[first])
                          : fmt::format("{}-{}", cores[first], cores[last]);
    first = last + 1;
  }
  return text;
}

Json placements_json(std::span<const Placement> places) {
  Json list = Json::array();
  for (const Placement& place : places)
    list.push_back(
        {{"host", place.host},
         {"allowed_cores", core_list(place.allowed)},
         {"quota_cores", finite_or_null(place.quota_cores)},
         {"bound_cores", place.bound.empty() ? Json(nullptr) : Json(core_list(place.bound))}});
  return list;
}

}  // namespace thinwire::harness
