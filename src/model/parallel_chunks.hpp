#pragma once
#include <algorithm>

#include "thinwire/base/types.hpp"

namespace thinwire::model {

/// Calls work(first, count) for pieces that tile [0, elements), spread over the threads.
template <class Work>
void parallel_chunks(Index elements, const Work& work) {
  constexpr Index kChunk = Index{1} << 16;
  const Index chunks = (elements + kChunk - 1) / kChunk;
#pragma omp parallel for schedule(static)
  for (Index chunk = 0; chunk < chunks; ++chunk)
    work(chunk * kChunk, std::min(kChunk, elements - chunk * kChunk));
}

}  // namespace thinwire::model
