#include "thinwire/ops/runtime.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <dnnl.hpp>

#include "thinwire/base/error.hpp"

namespace thinwire::ops {
namespace {

TEST(Runtime, ThreadsAreThoseThatWereSet) {
  const int before = threads();

  set_threads(3);

  EXPECT_EQ(threads(), 3);
  set_threads(before);
}

TEST(Runtime, RefusesZeroThreads) {
  EXPECT_THROW(set_threads(0), Error);
}

TEST(Runtime, OnednnVersionIsTheOneCompiledAgainst) {
  EXPECT_EQ(onednn_version(),
            fmt::format("{}.{}.{}", DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR, DNNL_VERSION_PATCH));
}

}  // namespace
}  // namespace thinwire::ops
