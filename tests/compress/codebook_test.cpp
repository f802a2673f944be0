#include "thinwire/compress/codebook.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "ops/matrices.hpp"
#include "support/allocation_counter.hpp"
#include "support/same_places.hpp"

namespace thinwire::compress {
namespace {

using ops::Similarity;
using test::random_matrix;

constexpr std::array<Index, 3> kLevels = {2, 5, 11};
constexpr Index kCodewords = 11;
constexpr int kFinest = 2;

struct Shape {
  Index groups, width;
};
constexpr std::array kShapes = {Shape{1, 48}, Shape{1, 7}, Shape{3, 16}, Shape{5, 3}};

std::vector<Matrix<float>> make_groups(Shape shape) {
  std::vector<Matrix<float>> groups;
  for (Index g = 0; g < shape.groups; ++g)
    groups.push_back(random_matrix(kCodewords, shape.width, std::string("group") + char('0' + g)));
  return groups;
}

Codebook make_codebook(std::span<const Matrix<float>> groups, Similarity similarity,
                       Dequantise dequantise = Dequantise::yes) {
  return {groups, similarity, kLevels, dequantise, {std::pmr::new_delete_resource()}};
}

std::vector<std::int32_t> nearest_of(const Codebook& codebook, MatrixView<const float> x, int level,
                                     Operations& counted) {
  std::vector<float> scratch(static_cast<std::size_t>(codebook.scratch_floats(x.rows(), level)));
  std::vector<std::int32_t> indices(static_cast<std::size_t>(x.rows() * codebook.groups()), -1);
  codebook.nearest(x, level, scratch, indices, counted);
  return indices;
}

/// METHODS 3.2, larger is nearer.
double score_of(std::span<const float> x, std::span<const float> codeword, Similarity similarity) {
  double product = 0, norm = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    product += double{x[i]} * codeword[i];
    norm += double{codeword[i]} * codeword[i];
  }
  return similarity == Similarity::cosine ? product / std::sqrt(norm) : product - norm / 2;
}

std::int32_t plain_nearest(MatrixView<const float> codewords, std::span<const float> x,
                           Index candidates, Similarity similarity) {
  double best = -std::numeric_limits<double>::infinity();
  std::int32_t nearest = -1;
  for (Index k = 0; k < candidates; ++k) {
    const double score = score_of(x, codewords.row(k), similarity);
    if (score > best) best = score, nearest = static_cast<std::int32_t>(k);
  }
  return nearest;
}

void expect_plain_loop(Shape shape, Similarity similarity, Index rows, int level) {
  const std::vector<Matrix<float>> groups = make_groups(shape);
  const Codebook codebook = make_codebook(groups, similarity);
  const Matrix<float> x = random_matrix(rows, shape.groups * shape.width, "x");
  const Index candidates = kLevels[static_cast<std::size_t>(level)];
  Operations counted;

  const std::vector<std::int32_t> indices = nearest_of(codebook, x.view(), level, counted);

  for (Index row = 0; row < rows; ++row)
    for (Index g = 0; g < shape.groups; ++g) {
      const auto piece = x.view().cols(g * shape.width, shape.width).row(row);
      EXPECT_EQ(
          indices[static_cast<std::size_t>(row * shape.groups + g)],
          plain_nearest(groups[static_cast<std::size_t>(g)].view(), piece, candidates, similarity))
          << "row " << row << " group " << g;
    }
  EXPECT_EQ(counted.matmul_macs, rows * shape.groups * shape.width * candidates);
}

TEST(Codebook, NearestOfEveryGroupEqualsAPlainLoop) {
  for (const Shape shape : kShapes)
    for (const Similarity similarity : {Similarity::cosine, Similarity::squared})
      for (const Index rows : {0, 1, 17, 131})
        for (int level = 0; level <= kFinest; ++level) {
          SCOPED_TRACE(testing::Message() << shape.groups << " groups of " << shape.width << ", "
                                          << rows << " rows, level " << level);
          expect_plain_loop(shape, similarity, rows, level);
        }
}

TEST(Codebook, ALevelIsThePrefixOfTheNext) {
  const std::vector<Matrix<float>> groups = make_groups({1, 48});
  const Codebook whole = make_codebook(groups, Similarity::cosine);
  std::vector<Matrix<float>> first;
  first.push_back(test::copy_of(groups[0].first(kLevels[1])));
  const Codebook prefix(first, Similarity::cosine, std::array{kLevels[1]}, Dequantise::no,
                        {std::pmr::new_delete_resource()});
  const Matrix<float> x = random_matrix(64, 48, "x");
  Operations counted;

  EXPECT_EQ(nearest_of(whole, x.view(), 1, counted), nearest_of(prefix, x.view(), 0, counted));
}

TEST(Codebook, KnowsItsShape) {
  const std::vector<Matrix<float>> groups = make_groups({3, 16});
  const Codebook codebook = make_codebook(groups, Similarity::squared);

  EXPECT_EQ(codebook.groups(), 3);
  EXPECT_EQ(codebook.codewords(), kCodewords);
  EXPECT_EQ(codebook.hidden(), 48);
}

/// Indices that use every group differently.
std::vector<std::int32_t> some_indices(Index rows, Index groups) {
  std::vector<std::int32_t> indices;
  for (Index i = 0; i < rows * groups; ++i)
    indices.push_back(static_cast<std::int32_t>((i * 7 + i / 3) % kCodewords));
  return indices;
}

TEST(Codebook, LookupGivesTheCodewords) {
  for (const Shape shape : kShapes)
    for (const Index rows : {0, 1, 17, 1201}) {
      SCOPED_TRACE(testing::Message()
                   << shape.groups << " groups of " << shape.width << ", " << rows << " rows");
      const std::vector<Matrix<float>> groups = make_groups(shape);
      const Codebook codebook = make_codebook(groups, Similarity::cosine);
      const std::vector<std::int32_t> indices = some_indices(rows, shape.groups);
      Matrix<float> looked_up(rows, codebook.hidden());

      codebook.lookup(indices, looked_up.view());

      for (Index r = 0; r < rows; ++r)
        for (Index c = 0; c < codebook.hidden(); ++c) {
          const Index g = c / shape.width;
          const Index k = indices[static_cast<std::size_t>(r * shape.groups + g)];
          const float expected = groups[static_cast<std::size_t>(g)](k, c % shape.width);
          ASSERT_EQ(looked_up(r, c), expected) << r << ", " << c;
        }
    }
}

TEST(Codebook, WritesNoColumnBesideItsOwn) {
  const std::vector<Matrix<float>> groups = make_groups({3, 16});
  const Codebook codebook = make_codebook(groups, Similarity::cosine);
  Matrix<float> wide(4, 50);

  codebook.lookup(some_indices(4, 3), wide.view().cols(1, 48));

  for (Index r = 0; r < 4; ++r) EXPECT_EQ(wide(r, 0) + wide(r, 49), 0) << r;
}

TEST(Codebook, MadeForSearchingAloneCannotDequantise) {
  const std::vector<Matrix<float>> groups = make_groups({1, 48});
  const Codebook codebook = make_codebook(groups, Similarity::cosine, Dequantise::no);
  Matrix<float> rows(2, 48);

  EXPECT_THROW(codebook.lookup(std::array{0, 1}, rows.view()), Error);
}

TEST(Codebook, FindsTheCodewordsOfAnotherWithAndWithoutItsTable) {
  for (const Shape shape : kShapes)
    for (const Similarity similarity : {Similarity::cosine, Similarity::squared})
      for (int level = 0; level <= kFinest; ++level) {
        SCOPED_TRACE(testing::Message() << shape.groups << " groups, level " << level);
        std::vector<Matrix<float>> groups = make_groups(shape), others;
        for (Index g = 0; g < shape.groups; ++g)
          others.push_back(
              random_matrix(kCodewords, shape.width, std::string("other") + char('0' + g)));
        const Index candidates = kLevels[static_cast<std::size_t>(level)];
        std::vector<std::int32_t> found(static_cast<std::size_t>(candidates * shape.groups), -1);
        std::vector<std::int32_t> again = found;

        make_codebook(groups, similarity)
            .nearest_to(make_codebook(others, similarity), level, found);
        make_codebook(groups, similarity, Dequantise::no)
            .nearest_to(make_codebook(others, similarity, Dequantise::no), level, again);

        EXPECT_EQ(again, found);
        for (Index k = 0; k < candidates; ++k)
          for (Index g = 0; g < shape.groups; ++g) {
            const auto of_group = static_cast<std::size_t>(g);
            EXPECT_EQ(found[static_cast<std::size_t>(k * shape.groups + g)],
                      plain_nearest(groups[of_group].view(), others[of_group].view().row(k),
                                    candidates, similarity));
          }
      }
}

TEST(Codebook, RefusesShapesThatDoNotFit) {
  const std::vector<Matrix<float>> groups = make_groups({3, 16});
  const Codebook codebook = make_codebook(groups, Similarity::cosine);
  Matrix<float> rows(2, 48), narrow(2, 47);
  std::vector<float> scratch(10000);
  std::array<std::int32_t, 6> indices{};
  Operations counted;

  EXPECT_THROW(codebook.lookup(std::span(indices).first(5), rows.view()), Error);
  EXPECT_THROW(codebook.lookup(indices, narrow.view()), Error);
  EXPECT_THROW(codebook.nearest(narrow.view(), 0, scratch, indices, counted), Error);
  EXPECT_THROW(codebook.nearest(rows.view(), 3, scratch, indices, counted), Error);
  EXPECT_THROW(codebook.nearest_to(codebook, 1, indices), Error);  // 5 codewords in 3 groups
  const std::vector<Matrix<float>> wider = make_groups({1, 48});
  EXPECT_THROW(make_codebook(wider, Similarity::cosine).nearest_to(codebook, 0, indices), Error);
}

TEST(Codebook, AttachedSearchesAndTablesAreTheWritten) {
  const std::vector<Matrix<float>> groups = make_groups({3, 16});
  std::vector<Matrix<float>> unread;
  for (int g = 0; g < 3; ++g) unread.emplace_back(kCodewords, 16);
  test::SamePlaces memory(std::size_t{1} << 20);
  const Matrix<float> x = random_matrix(9, 48, "x");
  Matrix<float> looked_up(9, 48), expected(9, 48);
  Operations counted;

  const Codebook written(groups, Similarity::squared, kLevels, Dequantise::yes, {&memory});
  memory.rewind();
  const Codebook attached(unread, Similarity::squared, kLevels, Dequantise::yes,
                          {&memory, ops::Packing::attach});
  const auto indices = nearest_of(attached, x.view(), kFinest, counted);
  attached.lookup(indices, looked_up.view());

  EXPECT_EQ(indices, nearest_of(written, x.view(), kFinest, counted));
  written.lookup(indices, expected.view());
  EXPECT_TRUE(std::ranges::equal(looked_up.view().elements(), expected.view().elements()));
  EXPECT_NE(looked_up(0, 0), 0);
}

TEST(Codebook, AllocatesNothingOnceARowCountIsKnown) {
  const std::vector<Matrix<float>> groups = make_groups({3, 16});
  const Codebook codebook = make_codebook(groups, Similarity::cosine);
  Matrix<float> x = random_matrix(17, 48, "x");
  std::vector<float> scratch(static_cast<std::size_t>(codebook.scratch_floats(17, kFinest)));
  std::vector<std::int32_t> indices(17 * 3);
  Operations counted;
  const auto pass = [&] {
    codebook.nearest(x.view(), kFinest, scratch, indices, counted);
    codebook.lookup(indices, x.view());
  };
  pass();
  const std::int64_t before = test::allocations();

  pass();

  EXPECT_EQ(test::allocations() - before, 0);
}

}  // namespace
}  // namespace thinwire::compress
