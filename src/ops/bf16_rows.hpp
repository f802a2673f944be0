#pragma once
#include <cstdint>

#include "thinwire/base/types.hpp"

namespace thinwire::ops {

/// to[i] = from[i] in bf16, rounded to nearest, ties to even; NaN stays NaN. Vectorised, and from
/// some size on spread over omp_get_max_threads() threads.
void round_to_bf16(const float* from, Index count, std::uint16_t* to);

/// The same into memory of the calling thread, which grows to the largest count and is written over
/// by the thread's next call: what products read, so that no layer keeps rows of its own.
const std::uint16_t* as_bf16(const float* from, Index count);

}  // namespace thinwire::ops
