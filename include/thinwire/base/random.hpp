#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace thinwire {

/// Counter-based random numbers: element i of a named stream depends on (name, seed, i) alone, so
/// any part can be made by any thread or rank, and every platform gets the same bits.
class RandomStream {
 public:
  RandomStream(std::string_view name, std::uint64_t seed);

  /// 64 random bits of element i.
  std::uint64_t bits(std::uint64_t i) const;
  /// Uniform in [0, 1), a multiple of 2^-24.
  float uniform(std::uint64_t i) const;
  /// Uniform with mean 0 and the given standard deviation for elements first, first + 1, ...
  void fill_symmetric(std::span<float> out, float deviation, std::uint64_t first = 0) const;

 private:
  std::uint64_t key_;
};

}  // namespace thinwire
