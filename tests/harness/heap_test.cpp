#include "thinwire/harness/heap.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "thinwire/harness/environment.hpp"

namespace thinwire::harness {
namespace {

constexpr std::size_t kLarge = 2 << 20, kHuge = 24 << 20;
constexpr int kBlocks = 16;

TEST(ReturnLargeBlocks, LeavesNothingOfThemBeneathSmallOnesThatStay) {
  if (resident_private_bytes() == 0) GTEST_SKIP() << "this kernel has no /proc/self/smaps";
  return_large_blocks();
  // What makes the heap keep smaller blocks, if it may choose: a freed one of this size.
  EXPECT_EQ(std::vector<char>(kHuge, 1).back(), 1);
  const std::int64_t before = resident_private_bytes();

  std::vector<std::vector<char>> large;
  std::vector<std::unique_ptr<int>> small;
  for (int i = 0; i < kBlocks; ++i) {
    large.emplace_back(kLarge, 1);
    small.push_back(std::make_unique<int>(i));
  }
  const std::int64_t with_large = resident_private_bytes();
  large.clear();

  EXPECT_GT(with_large - before, 30 << 20);
  EXPECT_LT(resident_private_bytes() - before, 1 << 20);
  EXPECT_EQ(*small.back(), kBlocks - 1);
}

}  // namespace
}  // namespace thinwire::harness
