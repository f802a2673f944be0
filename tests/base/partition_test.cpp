#include "thinwire/base/partition.hpp"

#include <gtest/gtest.h>

#include "thinwire/base/error.hpp"

namespace thinwire {
namespace {

std::vector<Index> sizes_of(const std::vector<Slice>& slices) {
  std::vector<Index> sizes;
  for (const Slice& slice : slices) sizes.push_back(slice.size);
  return sizes;
}

std::vector<Index> weighted(Index count, const std::vector<double>& weights) {
  return sizes_of(
      partition(count, static_cast<int>(weights.size()), PartitionPolicy::weighted, weights));
}

TEST(Partition, PaperGivesTheLastDeviceTheRemainder) {
  const auto slices = partition(197, 3, PartitionPolicy::paper);

  EXPECT_EQ(slices, (std::vector<Slice>{{0, 65}, {65, 65}, {130, 67}}));
}

TEST(Partition, BalancedGivesTheFirstDevicesTheExtraRow) {
  EXPECT_EQ(sizes_of(partition(197, 3, PartitionPolicy::balanced)),
            (std::vector<Index>{66, 66, 65}));
}

TEST(Partition, WeightedFollowsTheSpeeds) {
  EXPECT_EQ(weighted(100, {1, 3}), (std::vector<Index>{25, 75}));
  EXPECT_EQ(weighted(10, {1, 1, 2.5}), (std::vector<Index>{2, 2, 6}));  // 2.22, 2.22, 5.56
}

TEST(Partition, WeightedBreaksTiesTowardsTheLowerDevice) {
  EXPECT_EQ(weighted(197, {1, 1, 1}), (std::vector<Index>{66, 66, 65}));
  EXPECT_EQ(weighted(4, {0.1, 0.3, 0.4}), (std::vector<Index>{1, 1, 2}));  // 0.5, 1.5, 2
}

TEST(Partition, WeightedGivesEveryDeviceARow) {
  EXPECT_EQ(weighted(10, {1, 1e6}), (std::vector<Index>{1, 9}));
  EXPECT_EQ(weighted(3, {1e-300, 1e300, 1e300}), (std::vector<Index>{1, 1, 1}));
}

TEST(Partition, WeightedIgnoresTheUnitOfSpeed) {
  EXPECT_EQ(weighted(197, {1, 2, 4}), weighted(197, {0.1, 0.2, 0.4}));
  EXPECT_EQ(weighted(8, {0.1, 0.3}), (std::vector<Index>{2, 6}));  // whole numbers survive
}

TEST(Partition, SlicesTileTheRange) {
  const std::vector<double> speeds = {1, 2.5, 0.3, 7, 1, 1, 9};
  for (const auto policy :
       {PartitionPolicy::paper, PartitionPolicy::balanced, PartitionPolicy::weighted})
    for (const Index count : {7, 8, 13, 197, 3137})
      for (int devices = 1; devices <= 7; ++devices) {
        SCOPED_TRACE(testing::Message() << to_string(policy) << " " << count << " " << devices);

        const auto slices =
            partition(count, devices, policy, std::span(speeds).first(std::size_t(devices)));

        ASSERT_EQ(std::ssize(slices), devices);
        Index next = 0;
        for (const Slice& slice : slices) {
          EXPECT_EQ(slice.begin, next);
          EXPECT_GE(slice.size, 1);
          next = slice.end();
        }
        EXPECT_EQ(next, count);
      }
}

TEST(Partition, RefusesMoreDevicesThanRows) {
  EXPECT_THROW(partition(2, 3, PartitionPolicy::paper), InputError);
  EXPECT_THROW(partition(2, 0, PartitionPolicy::paper), InputError);
}

TEST(Partition, RefusesWrongWeights) {
  EXPECT_THROW(partition(9, 2, PartitionPolicy::weighted), InputError);
  EXPECT_THROW(weighted(9, {1, 0}), InputError);
  EXPECT_THROW(weighted(9, {1, -1}), InputError);
}

TEST(PartitionPolicy, NamesAreReadBack) {
  for (const auto policy :
       {PartitionPolicy::paper, PartitionPolicy::balanced, PartitionPolicy::weighted})
    EXPECT_EQ(parse_partition_policy(to_string(policy)), policy);
}

TEST(PartitionPolicy, UnknownNameIsAnsweredWithTheKnownOnes) {
  try {
    parse_partition_policy("balansed");
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "partition=balansed is unknown (did you mean balanced?); known: paper, balanced, "
                 "weighted, auto");
  }
}

}  // namespace
}  // namespace thinwire
