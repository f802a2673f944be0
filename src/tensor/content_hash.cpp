#include "thinwire/tensor/content_hash.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace thinwire {
namespace {

constexpr std::uint64_t kPrime = 0x100000001b3;
constexpr std::size_t kStep = sizeof(std::uint64_t);
constexpr std::size_t kLanes = 4;

/// The shift carries high bits down, which a product alone never does.
std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * kPrime;
  return hash ^ (hash >> 29);
}

/// Little-endian on every machine, so that a fingerprint travels.
std::uint64_t load(const std::byte* bytes, std::size_t count) {
  std::uint64_t word = 0;
  if constexpr (std::endian::native == std::endian::little)
    std::memcpy(&word, bytes, count);
  else
    for (std::size_t i = 0; i < count; ++i)
      word |= std::to_integer<std::uint64_t>(bytes[i]) << 8 * i;
  return word;
}

}  // namespace

void ContentHash::add(std::span<const std::byte> bytes) {
  std::array<std::uint64_t, kLanes> lanes = {hash_, hash_ + 1, hash_ + 2, hash_ + 3};
  std::size_t i = 0;
  for (; i + kLanes * kStep <= bytes.size(); i += kLanes * kStep)
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      lanes[lane] = mix(lanes[lane], load(bytes.data() + i + lane * kStep, kStep));
  for (const std::uint64_t lane : lanes) hash_ = mix(hash_, lane);
  for (; i < bytes.size(); i += kStep)
    hash_ = mix(hash_, load(bytes.data() + i, std::min(kStep, bytes.size() - i)));
  hash_ = mix(hash_, bytes.size());  // "ab", "c" is not "a", "bc"
}

}  // namespace thinwire
