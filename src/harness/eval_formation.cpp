#include "thinwire/harness/eval_formation.hpp"

#include <algorithm>

#include "thinwire/base/error.hpp"
#include "thinwire/base/partition.hpp"
#include "thinwire/harness/check_spec.hpp"
#include "thinwire/harness/strategy_traits.hpp"

namespace thinwire::harness {
namespace {

template <class T>
void shorten(std::vector<T>& one_a_device, std::size_t devices) {
  if (one_a_device.size() > 1 && one_a_device.size() > devices)
    one_a_device.erase(one_a_device.begin() + static_cast<std::ptrdiff_t>(devices),
                       one_a_device.end());
}

/// The first `devices` of the spec's.
void take_devices(RunSpec& spec, int devices) {
  spec.devices = devices;
  const auto count = static_cast<std::size_t>(devices);
  shorten(spec.rows, count);
  shorten(spec.slowness, count);
  shorten(spec.device_gflops, count);
  shorten(spec.memory, count);
  shorten(spec.device_power, count);
  shorten(spec.idle_power, count);
  shorten(spec.radio_power, count);
  for (std::vector<Rate>& rates : spec.rate) shorten(rates, count);
}

/// Rows of the device with the fewest.
Index smallest_part(const RunSpec& spec, Index tokens) {
  const std::vector<Slice> parts =
      partition(tokens, spec.devices, spec.partition, spec.partition_weights());
  return std::ranges::min_element(parts, {}, &Slice::size)->size;
}

RunSpec fitted(RunSpec spec, Index tokens) {
  if (!traits_of(spec.strategy).splits_tokens) return spec;
  const Index copied = spec.class_token == strategy::ClassToken::replicated ? 1 : 0;
  if (const Index splittable = std::max<Index>(1, tokens - copied); spec.devices > splittable)
    take_devices(spec, static_cast<int>(splittable));
  if (!spec.segments && !spec.compression_rate) return spec;
  if (const Index rows = smallest_part(spec, tokens); segments_for(spec, tokens) > rows) {
    spec.segments = rows;
    spec.compression_rate.reset();
  }
  return spec;
}

bool runs_alike(const RunSpec& a, const RunSpec& b) {
  return a.devices == b.devices && a.segments == b.segments &&
         a.compression_rate == b.compression_rate;
}

}  // namespace

std::vector<Formation> make_formations(const RunSpec& spec, std::span<const Index> lengths) {
  std::vector<Index> longest_first(lengths.begin(), lengths.end());
  std::ranges::sort(longest_first, std::ranges::greater{});
  std::vector<Formation> formations;
  for (const Index tokens : longest_first) {
    RunSpec own = fitted(spec, tokens);
    const auto same = std::ranges::find_if(
        formations, [&](const Formation& other) { return runs_alike(other.spec, own); });
    Formation& formation =
        same != formations.end() ? *same : formations.emplace_back(std::move(own));
    formation.lengths.insert(formation.lengths.begin(), tokens);
  }
  return formations;
}

const Formation& formation_of(std::span<const Formation> formations, Index tokens) {
  const auto found = std::ranges::find_if(formations, [tokens](const Formation& formation) {
    return std::ranges::binary_search(formation.lengths, tokens);
  });
  TW_REQUIRE(found != formations.end(), "no formation for a sequence of {} tokens", tokens);
  return *found;
}

}  // namespace thinwire::harness
