#include "thinwire/compress/segment_means.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "support/golden.hpp"
#include "thinwire/base/random.hpp"
#include "thinwire/tensor/matrix.hpp"

namespace thinwire::compress {
namespace {

using Flags = std::vector<std::uint8_t>;

struct Shape {
  Index rows, segments, cols;
};
const std::vector<Shape> kShapes = {{1, 1, 1},  {5, 2, 3},    {99, 10, 17}, {7, 7, 5},
                                    {65, 4, 1}, {98, 30, 63}, {197, 1, 768}};

Matrix<float> random_matrix(Index rows, Index cols, std::uint64_t seed) {
  Matrix<float> matrix(rows, cols);
  RandomStream("segment_means_test", seed).fill_symmetric(matrix.view().elements(), 1.0F);
  return matrix;
}

Flags random_flags(Index rows, std::uint64_t seed) {
  Flags flags;
  const RandomStream random("segment_means_test.real", seed);
  for (Index row = 0; row < rows; ++row)
    flags.push_back(random.uniform(static_cast<std::uint64_t>(row)) < 0.6F ? 1 : 0);
  return flags;
}

/// An fp32 sum of n values of magnitude m, one after the other, and a division: n roundings.
double rounding(Index n, double magnitude) {
  return static_cast<double>(n) * std::numeric_limits<float>::epsilon() * magnitude;
}

TEST(SegmentMeans, LastSegmentTakesTheRemainder) {
  Matrix<float> input(5, 1);
  for (Index row = 0; row < 5; ++row) input(row, 0) = static_cast<float>(2 * row + 1);
  Matrix<float> means(2, 1);

  segment_means(input.view(), {}, means.view());

  EXPECT_EQ(means(0, 0), 2.0F);  // (1 + 3) / 2
  EXPECT_EQ(means(1, 0), 7.0F);  // (5 + 7 + 9) / 3
}

TEST(SegmentMeans, AgreeWithTheGoldenValues) {
  const SafetensorsFile golden = test::open_golden("units");
  const Matrix<float> input = test::golden_matrix(golden, "means.x");
  for (const Index segments : {1, 3, 4, 11}) {
    SCOPED_TRACE(testing::Message() << "segments=" << segments);
    const std::string name = "means.l" + std::to_string(segments);
    const Matrix<float> expected = test::golden_matrix(golden, name);
    Matrix<float> means(segments, input.cols());

    segment_means(input.view(), {}, means.view());

    EXPECT_LE(test::relative_difference(means.view(), expected.view()), rounding(11, 1));
    const std::vector<std::int32_t> counts = golden.integers(name + ".counts");
    EXPECT_TRUE(std::ranges::equal(segment_lengths(input.rows(), segments), counts));
  }
}

TEST(SegmentMeans, MeansTimesLengthsKeepTheColumnSum) {
  for (const auto& [rows, segments, cols] : kShapes) {
    SCOPED_TRACE(testing::Message() << "rows=" << rows << " segments=" << segments);
    const Matrix<float> input = random_matrix(rows, cols, 42);
    const std::vector<Index> lengths = segment_lengths(rows, segments);
    Matrix<float> means(segments, cols);

    segment_means(input.view(), {}, means.view());

    for (Index col = 0; col < cols; ++col) {
      double sum = 0, magnitude = 0, kept = 0;
      for (Index row = 0; row < rows; ++row) {
        sum += input(row, col);
        magnitude += std::abs(input(row, col));
      }
      for (Index s = 0; s < segments; ++s)
        kept += static_cast<double>(lengths[static_cast<std::size_t>(s)]) * means(s, col);
      EXPECT_NEAR(kept, sum, rounding(rows + 1, magnitude)) << "column " << col;
    }
  }
}

/// The definition, in double precision.
double mean_of(MatrixView<const float> input, const Flags& real, Slice run, Index col) {
  double sum = 0;
  Index count = 0;
  for (Index row = run.begin; row < run.end(); ++row)
    if (real[static_cast<std::size_t>(row)] != 0) {
      sum += input(row, col);
      ++count;
    }
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

TEST(SegmentMeans, SkipPaddingLikeAPlainLoop) {
  for (const auto& [rows, segments, cols] : kShapes) {
    SCOPED_TRACE(testing::Message() << "rows=" << rows << " segments=" << segments);
    const Matrix<float> input = random_matrix(rows, cols, 7);
    const Flags real = random_flags(rows, 7);
    Matrix<float> means(segments, cols);

    segment_means(input.view(), real, means.view());

    for (Index s = 0; s < segments; ++s)
      for (Index col = 0; col < cols; ++col)
        EXPECT_NEAR(means(s, col),
                    mean_of(input.view(), real, segment_rows(rows, segments, s), col),
                    rounding(rows + 1, std::sqrt(3.0)));  // |x| of a uniform with deviation 1
  }
}

TEST(SegmentMeans, AddRowAfterRowHoweverManyARunHas) {
  for (const Index rows : {1, 2, 3, 4, 5, 8, 9, 23}) {
    SCOPED_TRACE(testing::Message() << "rows=" << rows);
    const Matrix<float> input = random_matrix(rows, 131, 11);
    Matrix<float> mean(1, 131);

    segment_means(input.view(), {}, mean.view());

    for (Index col = 0; col < input.view().cols(); ++col) {
      float sum = 0;
      for (Index row = 0; row < rows; ++row) sum += input(row, col);
      ASSERT_EQ(mean(0, col), sum / static_cast<float>(rows)) << "column " << col;
    }
  }
}

TEST(SegmentMeans, RunWithoutARealRowBecomesAZeroRow) {
  const Matrix<float> input = random_matrix(6, 3, 1);
  const Flags real = {1, 1, 0, 0, 0, 1};
  Matrix<float> means(3, 3);
  std::ranges::fill(means.view().elements(), 99.0F);

  segment_means(input.view(), real, means.view());

  for (Index col = 0; col < 3; ++col) {
    EXPECT_EQ(means(1, col), 0.0F);
    EXPECT_EQ(means(2, col), input(5, col));
  }
}

TEST(SegmentMeans, PaddedRowsMayHoldAnything) {
  Matrix<float> input = random_matrix(4, 2, 1);
  for (float& value : input.view().row(1)) value = std::numeric_limits<float>::quiet_NaN();
  Matrix<float> means(1, 2);

  segment_means(input.view(), Flags{1, 0, 1, 1}, means.view());

  EXPECT_TRUE(std::isfinite(means(0, 0)) && std::isfinite(means(0, 1)));
}

TEST(SegmentMeans, OneRowARunCopiesTheRows) {
  const Matrix<float> input = random_matrix(9, 33, 5);
  Matrix<float> means(9, 33);

  segment_means(input.view(), {}, means.view());

  EXPECT_TRUE(std::ranges::equal(means.view().elements(), input.view().elements()));
}

TEST(SegmentMeans, ReadAndWriteStridedViews) {
  const Matrix<float> wide = random_matrix(10, 8, 3);
  const MatrixView<const float> input = wide.view().cols(2, 3);
  Matrix<float> wide_means(3, 5), means(3, 3), dense(10, 3);
  copy(input, dense.view());

  segment_means(input, {}, wide_means.view().cols(1, 3));
  segment_means(dense.view(), {}, means.view());

  for (Index s = 0; s < 3; ++s) {
    EXPECT_TRUE(std::ranges::equal(wide_means.view().cols(1, 3).row(s), means.view().row(s)));
    EXPECT_EQ(wide_means(s, 0), 0.0F);
    EXPECT_EQ(wide_means(s, 4), 0.0F);
  }
}

TEST(SegmentMeans, RefuseShapesThatDoNotFit) {
  const Matrix<float> input(4, 3);
  Matrix<float> five_rows(5, 3), no_rows(0, 3), two_cols(2, 2), means(2, 3);

  EXPECT_THROW(segment_means(input.view(), {}, five_rows.view()), Error);
  EXPECT_THROW(segment_means(input.view(), {}, no_rows.view()), Error);
  EXPECT_THROW(segment_means(input.view(), {}, two_cols.view()), Error);
  EXPECT_THROW(segment_means(input.view(), Flags{1, 1, 1}, means.view()), Error);
}

}  // namespace
}  // namespace thinwire::compress
