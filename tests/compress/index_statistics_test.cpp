#include "thinwire/compress/index_statistics.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "thinwire/base/error.hpp"

namespace thinwire::compress {
namespace {

using Indices = std::vector<std::int32_t>;

TEST(IndexStatistics, CountsEachContextAndIndexOnce) {
  IndexStatistics statistics(4, 8);
  const Indices indices = {1, 1, 1}, previous = {7, 5, 5}, earlier = {0, 2, 2};

  statistics.add(indices, {.previous = previous, .earlier = earlier});

  const std::vector<IndexStatistics::Entry> expected = {{{5, 2, 1}, 1, 2}, {{7, 0, -1}, 1, 1}};
  EXPECT_EQ(statistics.entries(), expected);
  EXPECT_EQ(statistics.flat(), (Indices{5, 2, 1, 1, 2, 7, 0, -1, 1, 1}));
}

TEST(IndexStatistics, GroupsTakeTurnsAndHaveNeighboursOfTheirOwn) {
  IndexStatistics statistics(4, 4);
  const Indices indices = {0, 3, 1, 2};  // two tokens of two groups

  statistics.add(indices, {}, 1, 2);

  const std::vector<IndexStatistics::Entry> expected = {{{-1, -1, -1}, 3, 1}, {{-1, -1, 3}, 2, 1}};
  EXPECT_EQ(statistics.entries(), expected);
}

TEST(IndexStatistics, MergedCountsAreThoseOfOneRankInAnyOrder) {
  IndexStatistics all(16, 16), even(16, 16), odd(16, 16);
  for (std::int32_t frame = 0; frame < 3000; ++frame) {  // more than wait to be sorted
    const Indices indices = {frame % 16, frame * 7 % 16}, previous = {frame % 5, frame % 3};
    all.add(indices, {.previous = previous});
    (frame % 2 == 0 ? even : odd).add(indices, {.previous = previous});
  }

  odd.merge(even.flat());

  EXPECT_EQ(odd.flat(), all.flat());
  EXPECT_FALSE(all.flat().empty());
}

TEST(IndexStatistics, RefusesWhatNoRankCanHaveCounted) {
  EXPECT_THROW(IndexStatistics(5, 4), Error);
  EXPECT_THROW(IndexStatistics(0, 4), Error);
  EXPECT_THROW(IndexStatistics(4, 65537), Error);
  IndexStatistics statistics(4, 8);
  const Indices inside = {0, 3}, beyond = {0, 4}, three = {0, 0, 0}, far = {0, 8};
  EXPECT_NO_THROW(statistics.add(inside, {.previous = beyond}));
  EXPECT_THROW(statistics.add(beyond, {}), Error);
  EXPECT_THROW(statistics.add(inside, {.previous = three}), Error);
  EXPECT_THROW(statistics.add(inside, {.previous = far}), Error);
  EXPECT_THROW(statistics.add(inside, {.previous = inside, .earlier = far}), Error);
  EXPECT_THROW(statistics.add(three, {}, 0, 2), Error);
  EXPECT_THROW(statistics.add(inside, {}, 2, 2), Error);
  EXPECT_THROW(statistics.merge(three), Error);
  for (const Indices& flat :
       {Indices{8, 0, 0, 0, 1}, Indices{0, -2, 0, 0, 1}, Indices{0, 0, 4, 0, 1},
        Indices{0, 0, 0, 4, 1}, Indices{0, 0, 0, 0, 0}})
    EXPECT_THROW(statistics.merge(flat), Error);
}

}  // namespace
}  // namespace thinwire::compress
