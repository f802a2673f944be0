#include "thinwire/tensor/tracking_resource.hpp"

#include <gtest/gtest.h>

#include <new>

namespace thinwire {
namespace {

TEST(TrackingResource, KnowsWhatIsHeld) {
  TrackingResource memory;

  void* const a = memory.allocate(100, 64);
  void* const b = memory.allocate(28, 8);
  EXPECT_EQ(memory.held_bytes(), 128);
  memory.deallocate(a, 100, 64);

  EXPECT_EQ(memory.held_bytes(), 28);
  EXPECT_EQ(memory.allocations(), 2);
  memory.deallocate(b, 28, 8);
  EXPECT_EQ(memory.held_bytes(), 0);
}

TEST(TrackingResource, PassesOnToItsUpstream) {
  TrackingResource upstream;
  TrackingResource memory(&upstream);

  void* const p = memory.allocate(10, 8);

  EXPECT_EQ(upstream.held_bytes(), 10);
  memory.deallocate(p, 10, 8);
  EXPECT_EQ(upstream.held_bytes(), 0);
}

TEST(TrackingResource, CountsNothingWhenAnAllocationFails) {
  TrackingResource memory(std::pmr::null_memory_resource());

  EXPECT_THROW((void)memory.allocate(10, 8), std::bad_alloc);

  EXPECT_EQ(memory.held_bytes(), 0);
  EXPECT_EQ(memory.allocations(), 0);
}

}  // namespace
}  // namespace thinwire
