#include "thinwire/train/kmeans.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "support/local_run.hpp"
#include "thinwire/base/random.hpp"

namespace thinwire::train {
namespace {

using ops::Similarity;

constexpr Index kWidth = 13;

Matrix<float> random_rows(Index rows, const char* name) {
  Matrix<float> matrix(rows, kWidth);
  RandomStream(name, 7).fill_symmetric(matrix.view().elements(), 1);
  return matrix;
}

/// Row r lies near centre r % clusters; centres are far apart in length and in direction.
Matrix<float> separable_rows(Index rows, Index clusters) {
  Matrix<float> matrix(rows, kWidth);
  RandomStream("noise", 3).fill_symmetric(matrix.view().elements(), 0.01F);
  for (Index r = 0; r < rows; ++r) matrix(r, r % clusters) += 10 + static_cast<float>(r % clusters);
  return matrix;
}

std::vector<float> values(const Matrix<float>& matrix) {
  const auto all = matrix.view().elements();
  return {all.begin(), all.end()};
}

Clusters kmeans_alone(const Matrix<float>& rows, const KMeansOptions& options) {
  const auto solo = fabric::make_solo_transport();
  return kmeans(rows.view(), options, *solo);
}

double total_distance(const Matrix<float>& rows, const Matrix<float>& codewords, Similarity by) {
  double total = 0;
  for (Index r = 0; r < rows.rows(); ++r) {
    double least = HUGE_VAL;
    for (Index k = 0; k < codewords.rows(); ++k)
      least = std::min(least, distance(rows.view().row(r), codewords.view().row(k), by));
    total += least;
  }
  return total;
}

TEST(KMeans, FindsSeparableClustersAndTheirMeans) {
  constexpr Index kClusters = 5;
  const Matrix<float> rows = separable_rows(83, kClusters);
  for (const Similarity similarity : {Similarity::cosine, Similarity::squared}) {
    const Clusters found =
        kmeans_alone(rows, {.codewords = kClusters, .similarity = similarity, .seed = 4});

    std::set<Index> centres;
    for (Index k = 0; k < kClusters; ++k) {
      const auto codeword = found.codewords.view().row(k);
      const Index centre = std::ranges::max_element(codeword) - codeword.begin();
      centres.insert(centre);
      double sum = 0;
      double count = 0;
      for (Index r = centre; r < rows.rows(); r += kClusters, ++count) sum += rows(r, centre);
      EXPECT_NEAR(codeword[static_cast<std::size_t>(centre)], sum / count, 1e-5);
      EXPECT_EQ(found.statistics.counts[static_cast<std::size_t>(k)], count);
    }
    EXPECT_EQ(centres.size(), std::size_t{kClusters});
  }
}

TEST(KMeans, LloydIterationsLowerTheDistance) {
  const Matrix<float> rows = random_rows(301, "rows");
  const auto solo = fabric::make_solo_transport();
  const KMeansOptions options{.codewords = 17, .similarity = Similarity::squared};
  const Matrix<float> seeds = seed_codewords(rows.view(), options, *solo);

  const Clusters found = kmeans_alone(rows, options);

  EXPECT_LT(total_distance(rows, found.codewords, Similarity::squared),
            0.95 * total_distance(rows, seeds, Similarity::squared));
}

TEST(KMeans, SeedingDependsOnTheSeedAlone) {
  const Matrix<float> rows = random_rows(97, "rows");
  const auto solo = fabric::make_solo_transport();

  const auto first = values(seed_codewords(rows.view(), {.codewords = 9, .seed = 1}, *solo));
  const auto again = values(seed_codewords(rows.view(), {.codewords = 9, .seed = 1}, *solo));
  const auto other = values(seed_codewords(rows.view(), {.codewords = 9, .seed = 2}, *solo));

  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
}

TEST(KMeans, SeedingNeverDrawsARowTwice) {
  const Matrix<float> rows = random_rows(31, "rows");
  const auto solo = fabric::make_solo_transport();

  const Matrix<float> seeds =
      seed_codewords(rows.view(), {.codewords = 31, .similarity = Similarity::squared}, *solo);

  std::set<std::vector<float>> distinct;
  for (Index k = 0; k < seeds.rows(); ++k)
    distinct.emplace(seeds.view().row(k).begin(), seeds.view().row(k).end());
  EXPECT_EQ(distinct.size(), 31U);
}

TEST(KMeans, EmptyClustersBecomeTheWorstCodedRows) {
  // One far row among twelve copies of two others: the third codeword has to find it.
  Matrix<float> rows(13, 2);
  for (Index r = 0; r < 12; ++r) rows(r, r % 2) = 1;
  rows(12, 0) = -50;
  const Clusters found =
      kmeans_alone(rows, {.codewords = 3, .similarity = Similarity::squared, .seed = 5});

  EXPECT_NEAR(total_distance(rows, found.codewords, Similarity::squared), 0, 1e-6);
}

TEST(KMeans, FewerDistinctRowsThanCodewordsAreCodedExactly) {
  Matrix<float> rows(8, 2);
  for (Index r = 0; r < 8; ++r) rows(r, r % 2) = 3;

  const Clusters found =
      kmeans_alone(rows, {.codewords = 5, .similarity = Similarity::squared, .seed = 5});

  EXPECT_EQ(total_distance(rows, found.codewords, Similarity::squared), 0);
}

TEST(KMeans, TooFewRowsAreRefused) {
  const Matrix<float> rows = random_rows(4, "rows");
  EXPECT_THROW(kmeans_alone(rows, {.codewords = 5}), Error);
}

TEST(KMeans, RanksShareTheRowsAndGetTheSameCodewords) {
  const Matrix<float> rows = separable_rows(84, 4);
  std::vector<std::vector<float>> codewords(3);
  std::vector<double> counts;
  test::on_devices(3, [&](fabric::Transport& ranks) {
    const Index begin = 28 * ranks.rank();
    const Clusters found = kmeans(rows.view().rows(begin, 28), {.codewords = 4, .seed = 8}, ranks);
    codewords[static_cast<std::size_t>(ranks.rank())] = values(found.codewords);
    if (ranks.rank() == 0) counts = found.statistics.counts;
  });

  EXPECT_EQ(codewords[0], codewords[1]);
  EXPECT_EQ(codewords[0], codewords[2]);
  EXPECT_EQ(counts, std::vector<double>(4, 21.0));
}

TEST(KMeans, ARankWithoutRowsTakesPart) {
  const Matrix<float> rows = random_rows(40, "rows");
  std::vector<std::vector<float>> codewords(2);
  test::on_devices(2, [&](fabric::Transport& ranks) {
    const Index count = ranks.rank() == 0 ? 40 : 0;
    codewords[static_cast<std::size_t>(ranks.rank())] =
        values(kmeans(rows.view().rows(0, count), {.codewords = 6}, ranks).codewords);
  });
  EXPECT_EQ(codewords[0], codewords[1]);
}

TEST(Distance, OfAZeroRowIsNothingByCosine) {
  const std::vector<float> zero(3), row{1, 2, 3}, opposite{-1, -2, -3};

  EXPECT_EQ(distance(zero, row, Similarity::cosine), 0);
  EXPECT_EQ(distance(row, zero, Similarity::cosine), 1);
  EXPECT_NEAR(distance(row, row, Similarity::cosine), 0, 1e-6);
  EXPECT_NEAR(distance(row, opposite, Similarity::cosine), 2, 1e-6);
  EXPECT_FLOAT_EQ(static_cast<float>(distance(row, opposite, Similarity::squared)), 56);
}

}  // namespace
}  // namespace thinwire::train
