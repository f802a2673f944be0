#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "thinwire/harness/point.hpp"
#include "thinwire/strategy/strategy.hpp"

// Runs whose codebook level a controller chooses for every frame (--level=adaptive): what it chose,
// and what stands in for counted figures that a formula knows beforehand.
namespace thinwire::harness {

/// Frames by the bits of their indices (0 .. 16).
using FramesByBits = std::array<std::int64_t, 17>;
FramesByBits& operator+=(FramesByBits& sum, const FramesByBits& more);

/// Counts a device's coded frames by what their headers say.
class FrameCounter final : public strategy::Observer {
 public:
  explicit FrameCounter(const compress::CodebookUse& use) : use_(use) {}
  void on_published(Index exchange, std::span<const std::byte> payload) override;
  const FramesByBits& frames() const { return frames_; }
  void reset() { frames_ = {}; }

 private:
  compress::CodebookUse use_;
  FramesByBits frames_{};
};

/// [level]: of levels with equal bits the finest has them all.
std::vector<std::int64_t> frames_by_level(const FramesByBits& frames,
                                          std::span<const Index> levels);
/// Bits of an index in the mean over frames; NaN without frames.
double mean_index_bits(const FramesByBits& frames);

/// `spec` with every frame at the coarsest level of `levels`.
RunSpec at_coarsest_level(RunSpec spec, std::span<const Index> levels);

}  // namespace thinwire::harness
