#include "thinwire/harness/heap.hpp"

#include <malloc.h>

namespace thinwire::harness {
namespace {

// Smaller than the weights of the presets' products, larger than what samples and records ask for.
constexpr int kLargeBlockBytes = 1 << 20;

}  // namespace

void return_large_blocks() {
  mallopt(M_MMAP_THRESHOLD, kLargeBlockBytes);
  mallopt(M_TRIM_THRESHOLD, 2 * kLargeBlockBytes);
}

}  // namespace thinwire::harness
