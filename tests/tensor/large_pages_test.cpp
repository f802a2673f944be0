#include "thinwire/tensor/large_pages.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <string>

#include "thinwire/base/error.hpp"
#include "thinwire/tensor/matrix.hpp"

namespace thinwire {
namespace {

/// Whether the mapping of `address` has asked for large pages ("hg" among its flags).
bool asks_for_large_pages(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  bool is_there = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
      const auto wanted = reinterpret_cast<std::uintptr_t>(address);
      is_there = begin <= wanted && wanted < end;
    }
    if (is_there && line.starts_with("VmFlags:")) return line.find(" hg") != line.npos;
  }
  return false;
}

TEST(LargePages, AreAskedForAndHoldWhatIsWritten) {
  LargePages pages;
  Matrix<float> values(1000, 1500, &pages, Matrix<float>::Fill::none);

  for (float& value : values.view().elements()) value = 2;

  for (const float value : values.view().elements()) ASSERT_EQ(value, 2);
  if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"))
    GTEST_SKIP() << "this kernel has no transparent large pages";
  EXPECT_TRUE(asks_for_large_pages(&values(0, 0)));
}

TEST(LargePages, ServeManyBlocksThroughABuffer) {
  LargePages pages;
  std::pmr::monotonic_buffer_resource buffer(1 << 20, &pages);
  Matrix<float> first(3, 5, &buffer), second(1000, 700, &buffer);

  for (float& value : first.view().elements()) value = 1;
  for (float& value : second.view().elements()) value = 2;

  for (const float value : first.view().elements()) ASSERT_EQ(value, 1);
  for (const float value : second.view().elements()) ASSERT_EQ(value, 2);
}

TEST(LargePages, RefuseWhatIsNotToBeHad) {
  LargePages pages;

  EXPECT_THROW(static_cast<void>(pages.allocate(std::size_t{1} << 60, 64)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(pages.allocate(100, 1 << 20)), Error);
}

}  // namespace
}  // namespace thinwire
