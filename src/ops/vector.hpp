#pragma once
#include <cstring>

#include "thinwire/base/types.hpp"

namespace thinwire::ops {

/// Bytes of the widest vector that the compiler was told of (THINWIRE_ARCH).
#if defined(__AVX512F__)
inline constexpr Index kVectorBytes = 64;
#elif defined(__AVX__)
inline constexpr Index kVectorBytes = 32;
#else
inline constexpr Index kVectorBytes = 16;
#endif
inline constexpr Index kVectorFloats = kVectorBytes / 4;

/// In the notation that GCC and Clang share: operators work on every lane, and a product that is
/// added becomes one fused instruction.
using Vector [[gnu::vector_size(kVectorBytes)]] = float;

/// From and to any address, aligned or not.
inline Vector load(const float* from) noexcept {
  Vector result;
  std::memcpy(&result, from, sizeof result);
  return result;
}
inline void store(float* to, Vector value) noexcept {
  std::memcpy(to, &value, sizeof value);
}

}  // namespace thinwire::ops
