#include "thinwire/base/random.hpp"

#include <cstddef>

#include "thinwire/base/text.hpp"

namespace thinwire {
namespace {

/// The finalizer of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
/// generators, 2014): every input bit changes every output bit with probability near 1/2.
constexpr std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

/// The step of SplitMix64's counter, 2^64 divided by the golden ratio.
constexpr std::uint64_t kStep = 0x9e3779b97f4a7c15U;

constexpr int kFractionBits = 24;  // what a float holds exactly

constexpr std::uint64_t bits_of(std::uint64_t key, std::uint64_t i) {
  return mix(key + (i + 1) * kStep);
}

}  // namespace

RandomStream::RandomStream(std::string_view name, std::uint64_t seed)
    : key_(mix(fnv1a(name) + mix(seed + kStep))) {}

std::uint64_t RandomStream::bits(std::uint64_t i) const {
  return bits_of(key_, i);
}

float RandomStream::uniform(std::uint64_t i) const {
  constexpr float kUnit = 1.0F / (1 << kFractionBits);
  return static_cast<float>(static_cast<std::int32_t>(bits(i) >> (64 - kFractionBits))) * kUnit;
}

void RandomStream::fill_symmetric(std::span<float> out, float deviation,
                                  std::uint64_t first) const {
  constexpr float kSqrt3 = 1.7320508F;  // a uniform variable on [-a, a] deviates by a / sqrt(3)
  constexpr std::int32_t kCentre = (1 << kFractionBits) - 1;
  const float scale = deviation * kSqrt3 / (1 << kFractionBits);
  const std::uint64_t key = key_;
  float* const data = out.data();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto fraction =
        static_cast<std::int32_t>(bits_of(key, first + i) >> (64 - kFractionBits));
    // An odd integer within +-(2^24 - 1), exact as a float: the product is the only rounding.
    data[i] = static_cast<float>(2 * fraction - kCentre) * scale;
  }
}

}  // namespace thinwire
