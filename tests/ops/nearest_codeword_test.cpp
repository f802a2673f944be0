#include "thinwire/ops/nearest_codeword.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "ops/matrices.hpp"
#include "support/allocation_counter.hpp"
#include "thinwire/tensor/safetensors.hpp"
#include "thinwire/tensor/tracking_resource.hpp"

namespace thinwire::ops {
namespace {

using test::copy_of;
using test::random_matrix;
using Indices = std::vector<std::int32_t>;

std::pmr::memory_resource* heap() {
  return std::pmr::new_delete_resource();
}

NearestCodeword search_of(MatrixView<const float> codewords, Similarity similarity) {
  return {codewords, similarity, std::array{codewords.rows()}, heap()};
}

Indices find(const NearestCodeword& nearest, MatrixView<const float> x, int level = 0) {
  std::vector<float> scratch(static_cast<std::size_t>(
      NearestCodeword::scratch_floats(x.rows(), x.cols(), nearest.codewords(level))));
  Indices indices(static_cast<std::size_t>(x.rows()), -1);
  Operations counted;
  nearest(x, level, scratch, indices, 1, counted);
  return indices;
}

/// The definition in double precision; larger is nearer.
double score(std::span<const float> x, std::span<const float> codeword, Similarity similarity) {
  double product = 0, norm = 0, distance = 0;
  for (std::size_t c = 0; c < x.size(); ++c) {
    product += double{x[c]} * codeword[c];
    norm += double{codeword[c]} * codeword[c];
    distance += (double{x[c]} - codeword[c]) * (double{x[c]} - codeword[c]);
  }
  if (similarity == Similarity::squared) return -distance / 2;
  return norm == 0 ? 0 : product / std::sqrt(norm);
}

/// The best score of a plain loop over the first `candidates` codewords.
double best_score(std::span<const float> x, MatrixView<const float> codewords, Index candidates,
                  Similarity similarity) {
  double best = -HUGE_VAL;
  for (Index k = 0; k < candidates; ++k)
    best = std::max(best, score(x, codewords.row(k), similarity));
  return best;
}

struct Shape {
  Index rows, width, codewords;
};
constexpr std::array kShapes = {Shape{1, 1, 2},    Shape{5, 3, 7},     Shape{17, 24, 16},
                                Shape{99, 65, 33}, Shape{129, 48, 70}, Shape{300, 16, 257}};

TEST(NearestCodeword, EqualsAPlainLoop) {
  for (const Similarity similarity : {Similarity::cosine, Similarity::squared})
    for (const auto& [rows, width, codewords] : kShapes) {
      SCOPED_TRACE(testing::Message() << rows << " rows of " << width << ", " << codewords
                                      << " codewords, " << static_cast<int>(similarity));
      const Matrix<float> book = random_matrix(codewords, width, "book");
      const Matrix<float> x = random_matrix(rows, width, "x");

      const Indices found = find(search_of(book.view(), similarity), x.view());

      // Sums of `width` products of values below sqrt(3): another order of them may swap two
      // codewords that are nearer to each other than this.
      const double rounding = 8.0 * static_cast<double>(width) * test::kFp32Epsilon * 3;
      for (Index row = 0; row < rows; ++row) {
        const std::int32_t index = found[static_cast<std::size_t>(row)];
        ASSERT_TRUE(index >= 0 && index < codewords) << index;
        const auto of_row = x.view().row(row);
        EXPECT_GE(score(of_row, book.view().row(index), similarity),
                  best_score(of_row, book.view(), codewords, similarity) - rounding);
      }
    }
}

TEST(NearestCodeword, AgreesWithTheGoldenValues) {
  const SafetensorsFile golden(std::string(THINWIRE_TEST_DATA) + "/golden/units.safetensors");
  const auto matrix = [&golden](const char* name) {
    const TensorView& tensor = golden.at(name);
    Matrix<float> values(tensor.shape.at(0), tensor.shape.at(1));
    widen(tensor, 0, values.view().elements());
    return values;
  };
  const Matrix<float> book = matrix("nearest.codebook"), x = matrix("nearest.x");

  EXPECT_EQ(find(search_of(book.view(), Similarity::cosine), x.view()),
            golden.integers("nearest.cosine"));
  EXPECT_EQ(find(search_of(book.view(), Similarity::squared), x.view()),
            golden.integers("nearest.squared"));
}

TEST(NearestCodeword, LevelsSearchTheFirstCodewordsOnly) {
  const Matrix<float> book = random_matrix(21, 9, "book"), x = random_matrix(40, 9, "x");
  const std::array<Index, 3> levels = {2, 8, 21};
  for (const Similarity similarity : {Similarity::cosine, Similarity::squared}) {
    const NearestCodeword nearest(book.view(), similarity, levels, heap());
    ASSERT_EQ(nearest.levels(), 3);
    for (int level = 0; level < 3; ++level) {
      const Index size = levels[static_cast<std::size_t>(level)];

      const Indices found = find(nearest, x.view(), level);

      EXPECT_EQ(nearest.codewords(level), size);
      EXPECT_LT(std::ranges::max(found), size);
      EXPECT_EQ(found, find(search_of(book.first(size), similarity), x.view()));
    }
  }
}

TEST(NearestCodeword, TiesGoToTheLowestIndexWhereverTheyStand) {
  for (const auto& [first, second] : {std::pair<Index, Index>{0, 1}, {3, 36}, {15, 16}, {7, 69}}) {
    Matrix<float> book = random_matrix(70, 5, "book", 0.1F);
    const Matrix<float> x = random_matrix(1, 5, "x");
    for (const Index twin : {first, second})
      std::ranges::copy(x.view().row(0), book.view().row(twin).data());

    for (const Similarity similarity : {Similarity::cosine, Similarity::squared})
      EXPECT_EQ(find(search_of(book.view(), similarity), x.view()),
                Indices{static_cast<std::int32_t>(first)});
  }
}

TEST(NearestCodeword, CosineIgnoresLengthsOfCodewords) {
  const Matrix<float> book = random_matrix(33, 12, "book"), x = random_matrix(50, 12, "x");
  Matrix<float> scaled = copy_of(book.view());
  for (Index k = 0; k < 33; ++k)
    for (float& value : scaled.view().row(k)) value *= std::exp2(static_cast<float>(k % 7 - 3));

  EXPECT_EQ(find(search_of(scaled.view(), Similarity::cosine), x.view()),
            find(search_of(book.view(), Similarity::cosine), x.view()));
}

TEST(NearestCodeword, UnpacksTheCodewordsOfALevelAsItSearchesThem) {
  const Matrix<float> codewords = random_matrix(11, 37, "codewords");
  const std::array levels = {Index{4}, Index{11}};
  const NearestCodeword squared(codewords.view(), Similarity::squared, levels, heap());
  const NearestCodeword cosine(codewords.view(), Similarity::cosine, levels, heap());
  for (int level = 0; level < 2; ++level) {
    const Matrix<float> given = squared.unpacked(level), unit = cosine.unpacked(level);
    ASSERT_EQ(given.rows(), levels[static_cast<std::size_t>(level)]);
    ASSERT_EQ(unit.rows(), given.rows());
    EXPECT_TRUE(
        std::ranges::equal(given.view().elements(), codewords.first(given.rows()).elements()));
    for (Index k = 0; k < unit.rows(); ++k) {
      const auto codeword = codewords.view().row(k), direction = unit.view().row(k);
      EXPECT_NEAR(score(direction, direction, Similarity::cosine), 1, 1e-6);  // its length
      EXPECT_NEAR(score(codeword, direction, Similarity::cosine),
                  score(codeword, codeword, Similarity::cosine), 1e-5);
    }
    EXPECT_THROW(cosine.unpacked(2), Error);
  }
}

TEST(NearestCodeword, AZeroCodewordScoresZeroByCosine) {
  Matrix<float> book(3, 2), x(3, 2);
  book(0, 0) = 1;  // along the first axis; codeword 1 is zero
  book(2, 0) = 2;
  x(0, 0) = -1;  // opposite: only the zero codeword scores 0
  x(1, 0) = 3;

  EXPECT_EQ(find(search_of(book.view(), Similarity::cosine), x.view()), (Indices{1, 0, 0}));
}

TEST(NearestCodeword, AZeroRowGetsIndexZeroByCosine) {
  const Matrix<float> book = random_matrix(40, 7, "book"), x(140, 7);

  EXPECT_EQ(find(search_of(book.view(), Similarity::cosine), x.view()), Indices(140, 0));
}

TEST(NearestCodeword, NotANumberStillGivesAnIndexInRange) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const Matrix<float> book = random_matrix(37, 6, "book");
  Matrix<float> x = random_matrix(4, 6, "x");
  std::ranges::fill(x.view().row(0), nan);
  x(1, 3) = nan;
  x(2, 2) = infinity;
  std::ranges::fill(x.view().row(3), -infinity);
  for (const Similarity similarity : {Similarity::cosine, Similarity::squared})
    for (const std::int32_t index : find(search_of(book.view(), similarity), x.view()))
      EXPECT_TRUE(index >= 0 && index < 37) << index;
}

TEST(NearestCodeword, ReadsStridedRowsAndWritesStridedIndices) {
  const Matrix<float> wide = random_matrix(150, 30, "wide"), book = random_matrix(16, 10, "book");
  const NearestCodeword nearest = search_of(book.view(), Similarity::squared);
  const MatrixView<const float> x = wide.view().cols(10, 10);
  const Matrix<float> dense = copy_of(x);
  std::vector<float> scratch(
      static_cast<std::size_t>(NearestCodeword::scratch_floats(150, 10, 16)));
  Indices indices(150 * 3, -1);
  Operations counted;

  nearest(x, 0, scratch, std::span(indices).subspan(1), 3, counted);

  const Indices expected = find(nearest, dense.view());
  for (std::size_t row = 0; row < 150; ++row) {
    EXPECT_EQ(indices[3 * row], -1);
    EXPECT_EQ(indices[3 * row + 1], expected[row]);
    EXPECT_EQ(indices[3 * row + 2], -1);
  }
}

TEST(NearestCodeword, CountsProductsAndTheBiasOfSquaredDistance) {
  const Matrix<float> book = random_matrix(16, 10, "book"), x = random_matrix(150, 10, "x");
  std::vector<float> scratch(
      static_cast<std::size_t>(NearestCodeword::scratch_floats(150, 10, 16)));
  Indices indices(150);
  Operations cosine, squared;

  search_of(book.view(), Similarity::cosine)(x.view(), 0, scratch, indices, 1, cosine);
  search_of(book.view(), Similarity::squared)(x.view(), 0, scratch, indices, 1, squared);

  EXPECT_EQ(cosine, (Operations{.matmul_macs = 150 * 10 * 16}));
  EXPECT_EQ(squared, (Operations{.matmul_macs = 150 * 10 * 16, .bias_elements = 150 * 16}));
}

TEST(NearestCodeword, WithoutRowsDoesAndCountsNothing) {
  const Matrix<float> book = random_matrix(16, 10, "book");
  Operations counted;

  search_of(book.view(), Similarity::cosine)(Matrix<float>(0, 10).view(), 0, {}, {}, 1, counted);

  EXPECT_EQ(NearestCodeword::scratch_floats(0, 10, 16), 0);
  EXPECT_EQ(counted, Operations{});
}

TEST(NearestCodeword, ScratchDoesNotGrowWithTheRows) {
  EXPECT_LE(NearestCodeword::scratch_floats(100000, 768, 1024),
            NearestCodeword::scratch_floats(128, 768, 1024));
}

TEST(NearestCodeword, ThreadsDoNotChangeTheResult) {
  const Matrix<float> book = random_matrix(512, 24, "book"), x = random_matrix(200, 24, "x");
  const NearestCodeword nearest = search_of(book.view(), Similarity::cosine);
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  const Indices alone = find(nearest, x.view());
  omp_set_num_threads(3);
  const Indices together = find(nearest, x.view());
  omp_set_num_threads(threads);

  EXPECT_EQ(together, alone);
}

/// Hands out the same bytes to whoever comes next after a rewind, as a node's shared memory does.
class SharedBytes : public std::pmr::memory_resource {
 public:
  void rewind() { used_ = 0; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    used_ = (used_ + alignment - 1) / alignment * alignment;
    void* const place = bytes_.view().data() + used_;
    used_ += bytes;
    TW_REQUIRE(used_ <= bytes_.bytes(), "{} bytes where {} fit", used_, bytes_.bytes());
    return place;
  }
  void do_deallocate(void*, std::size_t, std::size_t) override {}
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  Matrix<std::byte> bytes_{1, 1 << 20};
  std::size_t used_ = 0;
};

TEST(NearestCodeword, AttachesToPackedBytesWithoutReadingValues) {
  const Matrix<float> book = random_matrix(33, 20, "book"), x = random_matrix(50, 20, "x");
  const std::array<Index, 3> levels = {2, 8, 33};
  for (const Similarity similarity : {Similarity::cosine, Similarity::squared}) {
    SharedBytes memory;
    const NearestCodeword written(book.view(), similarity, levels, &memory);
    memory.rewind();
    const MatrixView<const float> shape_only(nullptr, 33, 20);
    const NearestCodeword attached(shape_only, similarity, levels, &memory, Packing::attach);

    for (int level = 0; level < 3; ++level)
      EXPECT_EQ(find(attached, x.view(), level), find(written, x.view(), level));
  }
}

TEST(NearestCodeword, AllocatesNothingOnceARowCountIsKnown) {
  const Matrix<float> book = random_matrix(64, 20, "book"), x = random_matrix(197, 20, "x");
  const NearestCodeword nearest = search_of(book.view(), Similarity::squared);
  std::vector<float> scratch(
      static_cast<std::size_t>(NearestCodeword::scratch_floats(197, 20, 64)));
  Indices indices(197);
  Operations counted;
  nearest(x.view(), 0, scratch, indices, 1, counted);
  const std::int64_t before = test::allocations();

  nearest(x.view(), 0, scratch, indices, 1, counted);

  EXPECT_EQ(test::allocations() - before, 0);
}

TEST(NearestCodeword, RefusesWhatDoesNotFit) {
  const Matrix<float> book = random_matrix(16, 10, "book"), x = random_matrix(4, 10, "x");
  const NearestCodeword nearest = search_of(book.view(), Similarity::cosine);
  std::vector<float> scratch(static_cast<std::size_t>(NearestCodeword::scratch_floats(4, 10, 16)));
  Indices indices(4);
  Operations counted;
  const auto search = [&](MatrixView<const float> rows, int level, std::size_t floats,
                          std::size_t places, Index stride) {
    nearest(rows, level, std::span(scratch).first(floats), std::span(indices).first(places), stride,
            counted);
  };

  EXPECT_NO_THROW(search(x.view(), 0, scratch.size(), 4, 1));
  EXPECT_THROW(search(x.view().cols(0, 9), 0, scratch.size(), 4, 1), Error);
  EXPECT_THROW(search(x.view(), 1, scratch.size(), 4, 1), Error);
  EXPECT_THROW(search(x.view(), -1, scratch.size(), 4, 1), Error);
  EXPECT_THROW(search(x.view(), 0, scratch.size() - 1, 4, 1), Error);
  EXPECT_THROW(search(x.view(), 0, scratch.size(), 3, 1), Error);
  EXPECT_THROW(search(x.view(), 0, scratch.size(), 4, 2), Error);
  for (const std::vector<Index>& levels :
       {std::vector<Index>{}, {2, 8}, {8, 2, 16}, {4, 4, 16}, {0, 16}, {2, 32}})
    EXPECT_THROW(NearestCodeword(book.view(), Similarity::cosine, levels, heap()), Error);
}

}  // namespace
}  // namespace thinwire::ops
