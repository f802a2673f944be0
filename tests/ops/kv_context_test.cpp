#include "thinwire/ops/kv_context.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace thinwire::ops {
namespace {

TEST(KvContext, AppendsBehindTheColumnsThatAreThere) {
  KvContext context(5, 2, std::pmr::new_delete_resource());
  const std::vector<float> first_counts{0.0F, 1.5F}, second_counts{-1.0F};
  const std::vector<std::int32_t> first_last{3, 4}, second_last{9};

  context.append(first_counts, first_last)(1, 0) = 7.0F;
  const MatrixView<float> added = context.append(second_counts, second_last);
  added(0, 1) = 8.0F;  // K, second element
  added(0, 2) = 9.0F;  // V, first element

  EXPECT_EQ(context.columns(), 3);
  EXPECT_EQ(added.rows(), 1);
  EXPECT_EQ(added.cols(), 4);
  EXPECT_EQ(context.keys()(1, 0), 7.0F);
  EXPECT_EQ(context.keys()(2, 1), 8.0F);
  EXPECT_EQ(context.values()(2, 0), 9.0F);
  EXPECT_EQ(context.keys().cols(), 2);
  EXPECT_EQ(context.log_counts()[1], 1.5F);
  EXPECT_EQ(context.log_counts()[2], -1.0F);
  EXPECT_EQ(context.last()[2], 9);
}

TEST(KvContext, ClearForgetsColumnsAndKeepsTheCapacity) {
  KvContext context(2, 3, std::pmr::new_delete_resource());
  const std::vector<float> counts(2, 0.0F);
  const std::vector<std::int32_t> last(2, 0);
  context.append(counts, last);

  context.clear();

  EXPECT_EQ(context.columns(), 0);
  EXPECT_TRUE(context.log_counts().empty());
  EXPECT_EQ(context.append(counts, last).rows(), 2);
}

TEST(KvContext, RefusesMoreColumnsThanItsCapacity) {
  KvContext context(2, 3, std::pmr::new_delete_resource());
  const std::vector<float> counts(3, 0.0F);
  const std::vector<std::int32_t> last(3, 0);

  EXPECT_THROW(context.append(counts, last), Error);
  EXPECT_EQ(context.columns(), 0);
}

TEST(KvContext, RefusesCountsAndPositionsOfDifferentLength) {
  KvContext context(4, 3, std::pmr::new_delete_resource());
  const std::vector<float> counts(3, 0.0F);
  const std::vector<std::int32_t> last(2, 0);

  EXPECT_THROW(context.append(counts, last), Error);
}

}  // namespace
}  // namespace thinwire::ops
