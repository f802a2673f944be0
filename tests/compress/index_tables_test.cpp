#include "thinwire/compress/index_tables.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "index_chain.hpp"
#include "thinwire/base/error.hpp"

namespace thinwire::compress {
namespace {

using Words = std::vector<std::uint16_t>;

const model::WeightPlace kHeap{.memory = std::pmr::new_delete_resource()};

Words words_of(const IndexTables& tables) {
  return {tables.words().begin(), tables.words().end()};
}

TEST(IndexTables, WordsOfAFileMakeTheSameTables) {
  const IndexTables made(chain_statistics(64, 64, 200));

  const IndexTables read(made.words(), 64, 64, kHeap);

  EXPECT_EQ(words_of(read), words_of(made));
  EXPECT_TRUE(std::ranges::equal(read.sums(), made.sums()));
  EXPECT_EQ(read.file_bytes(), std::ssize(made.words()) * 2);
  EXPECT_EQ(read.memory_bytes(), read.file_bytes() + 65 * 4);
}

TEST(IndexTables, EveryIndexKeepsAFrequency) {
  for (const Index codewords :
       {Index{1}, Index{2}, Index{3}, Index{64}, Index{1024}, Index{65536}}) {
    SCOPED_TRACE(testing::Message() << codewords << " codewords");
    IndexStatistics statistics(codewords, codewords);
    const std::vector<std::int32_t> always(100000, 0);
    statistics.add(always, {});

    const IndexTables tables(statistics);

    EXPECT_EQ(std::ssize(tables.sums()), codewords + 1);
    EXPECT_EQ(std::ranges::adjacent_find(tables.sums(), std::greater_equal<>()),
              tables.sums().end());
  }
}

TEST(IndexTables, ExpectedBitsAreThoseOfTheStatistics) {
  const IndexTables tables(chain_statistics(64, 64, 2000));

  const IndexCost fixed = index_cost(tables, IndexCoding::fixed);
  const IndexCost entropy = index_cost(tables, IndexCoding::entropy);
  const IndexCost cross_layer = index_cost(tables, IndexCoding::cross_layer);

  EXPECT_EQ(fixed.expected_bits, 6);
  EXPECT_EQ(entropy.worst_bits, 6);
  EXPECT_EQ(cross_layer.worst_bits, 6);
  // follow() draws 0 with 5/8, 1, 2 and 3 with 1/8 each in 19 of 20 cases: 2.0 bits.
  EXPECT_NEAR(cross_layer.expected_bits, 2.0, 0.25);
  EXPECT_LT(cross_layer.expected_bits + 1, entropy.expected_bits);
  EXPECT_LE(entropy.expected_bits, 6);
}

TEST(IndexTables, WithoutCountsAllIndicesAreAlike) {
  const IndexTables tables(IndexStatistics(32, 1024));

  EXPECT_EQ(index_cost(tables, IndexCoding::entropy).expected_bits, 5);
  EXPECT_EQ(tables.sums()[1] * 32, tables.sums()[32]);
}

TEST(IndexTables, RefusesOtherSizes) {
  const IndexTables tables(chain_statistics(32, 64, 50));

  EXPECT_NO_THROW(IndexTables(tables.words(), 32, 64, kHeap));
  EXPECT_THROW(IndexTables(tables.words(), 64, 64, kHeap), Error);
  EXPECT_THROW(IndexTables(tables.words(), 32, 32, kHeap), Error);
  EXPECT_THROW(IndexTables({}, 32, 64, kHeap), Error);
  Words longer = words_of(tables);
  longer.push_back(0);
  EXPECT_THROW(IndexTables(longer, 32, 64, kHeap), Error);
  for (std::size_t size = 0; size < tables.words().size(); size += 7)
    EXPECT_THROW(IndexTables(tables.words().first(size), 32, 64, kHeap), Error) << size;
}

TEST(IndexTables, AttachReadsNoWords) {
  const IndexTables tables(chain_statistics(32, 32, 50));
  const Words none(tables.words().size(), 0xFFFF);

  const IndexTables attached(
      none, 32, 32, {.memory = std::pmr::new_delete_resource(), .packing = ops::Packing::attach});

  EXPECT_EQ(attached.file_bytes(), tables.file_bytes());
}

}  // namespace
}  // namespace thinwire::compress
