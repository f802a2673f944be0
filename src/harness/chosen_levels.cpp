#include "thinwire/harness/chosen_levels.hpp"

#include <limits>
#include <numeric>

#include "thinwire/base/error.hpp"
#include "thinwire/compress/index_coding.hpp"

namespace thinwire::harness {
namespace {

constexpr int kBitsOfHeader = 0x1f;  // the others tell the coding

}  // namespace

FramesByBits& operator+=(FramesByBits& sum, const FramesByBits& more) {
  for (std::size_t bits = 0; bits < sum.size(); ++bits) sum[bits] += more[bits];
  return sum;
}

void FrameCounter::on_published(Index exchange, std::span<const std::byte> payload) {
  if (!use_.codes(exchange) || payload.empty()) return;
  ++frames_.at(static_cast<std::size_t>(std::to_integer<int>(payload.front()) & kBitsOfHeader));
}

std::vector<std::int64_t> frames_by_level(const FramesByBits& frames,
                                          std::span<const Index> levels) {
  std::vector<std::int64_t> counts(levels.size());
  for (std::size_t level = 0; level < levels.size(); ++level) {
    const int bits = compress::index_bits(levels[level]);
    const bool is_finest =
        level + 1 == levels.size() || compress::index_bits(levels[level + 1]) > bits;
    if (is_finest) counts[level] = frames.at(static_cast<std::size_t>(bits));
  }
  return counts;
}

double mean_index_bits(const FramesByBits& frames) {
  const std::int64_t count = std::accumulate(frames.begin(), frames.end(), std::int64_t{0});
  if (count == 0) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (std::size_t bits = 0; bits < frames.size(); ++bits)
    sum += static_cast<double>(frames[bits]) * static_cast<double>(bits);
  return sum / static_cast<double>(count);
}

RunSpec at_coarsest_level(RunSpec spec, std::span<const Index> levels) {
  spec.level_control = strategy::LevelControl::fixed;
  spec.level = 0;
  spec.active_codewords = levels.front();
  return spec;
}

}  // namespace thinwire::harness
