#include "thinwire/ops/attention.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "ops/matrices.hpp"
#include "support/golden.hpp"
#include "thinwire/ops/runtime.hpp"
#include "thinwire/tensor/tracking_resource.hpp"

namespace thinwire::ops {
namespace {

using test::random_matrix;

constexpr float kNever = -std::numeric_limits<float>::infinity();

std::pmr::memory_resource* heap() {
  return std::pmr::new_delete_resource();
}

/// Queries and a context, as an operator and as a plain loop take them.
struct Case {
  Index heads, head_dim;
  Matrix<float> query;  // [rows, hidden]
  Matrix<float> kv;     // [columns, 2 * hidden]
  std::vector<float> log_counts;
  std::vector<std::int32_t> last, positions;

  Index hidden() const { return heads * head_dim; }
  KvContext context() const {
    KvContext result(kv.rows(), hidden(), heap());
    copy(kv.view(), result.append(log_counts, last));
    return result;
  }
};

/// Every third column stands for 2 to 4 tokens, every seventh is hidden; query i is at position
/// 2 i + 1 and column j at j, so that a causal mask hides some.
Case random_case(Index heads, Index head_dim, Index rows, Index columns) {
  const Index hidden = heads * head_dim;
  Case result{heads,
              head_dim,
              random_matrix(rows, hidden, "query", 2.0F),
              random_matrix(columns, 2 * hidden, "kv"),
              {},
              {},
              {}};
  for (Index j = 0; j < columns; ++j) {
    const auto count = static_cast<float>(j % 3 == 2 ? 2 + j % 3 : 1);
    result.log_counts.push_back(j % 7 == 6 ? kNever : std::log(count));
    result.last.push_back(static_cast<std::int32_t>(j));
  }
  for (Index i = 0; i < rows; ++i) result.positions.push_back(static_cast<std::int32_t>(2 * i + 1));
  return result;
}

bool is_visible(const Case& given, Mask mask, Index row, Index column) {
  const auto j = static_cast<std::size_t>(column);
  return given.log_counts[j] != kNever &&
         (mask == Mask::none || given.last[j] <= given.positions[static_cast<std::size_t>(row)]);
}

/// The weights of one query and head, by the definition, in double precision.
std::vector<double> plain_weights(const Case& given, Mask mask, Index row, Index head) {
  std::vector<double> weights;
  const Index first = head * given.head_dim;
  double largest = -HUGE_VAL, sum = 0;
  for (Index j = 0; j < given.kv.rows(); ++j) {
    double score = 0;
    for (Index c = first; c < first + given.head_dim; ++c)
      score += double{given.query(row, c)} * double{given.kv(j, c)};
    score = score / std::sqrt(static_cast<double>(given.head_dim)) +
            given.log_counts[static_cast<std::size_t>(j)];
    weights.push_back(is_visible(given, mask, row, j) ? score : -HUGE_VAL);
    largest = std::max(largest, weights.back());
  }
  for (double& weight : weights) sum += weight = std::exp(weight - largest);
  for (double& weight : weights) weight /= sum;
  return weights;
}

Matrix<float> plain_attention(const Case& given, Mask mask) {
  Matrix<float> output(given.query.rows(), given.hidden());
  for (Index row = 0; row < output.rows(); ++row)
    for (Index head = 0; head < given.heads; ++head) {
      const std::vector<double> weights = plain_weights(given, mask, row, head);
      for (Index c = head * given.head_dim; c < (head + 1) * given.head_dim; ++c) {
        double sum = 0;
        for (Index j = 0; j < given.kv.rows(); ++j)
          sum += weights[static_cast<std::size_t>(j)] * double{given.kv(j, given.hidden() + c)};
        output(row, c) = static_cast<float>(sum);
      }
    }
  return output;
}

Matrix<float> attend_to(const Case& given, Mask mask, int threads = 2) {
  Attention attend(given.heads, given.head_dim, mask, given.query.rows(), given.kv.rows(), threads,
                   heap());
  Matrix<float> output(given.query.rows(), given.hidden());
  Operations counted;
  attend(given.query.view(), given.context(), given.positions, output.view(), counted);
  return output;
}

/// Scores are of size 10 at most, so rounding moves a weight by 10 * head_dim roundings or less.
constexpr double kTolerance = 5e-6;

void expect_near(const Matrix<float>& output, const Matrix<float>& expected,
                 double tolerance = kTolerance) {
  EXPECT_LT(test::relative_difference(output.view(), expected.view()), tolerance);
}

TEST(Attention, EqualsThePlainLoop) {
  struct Shape {
    Index heads, head_dim, rows, columns;
  };
  for (const auto& [heads, head_dim, rows, columns] :
       {Shape{1, 1, 1, 1}, Shape{3, 16, 17, 25}, Shape{2, 5, 1, 33}, Shape{5, 7, 9, 2},
        Shape{1, 64, 98, 113}, Shape{12, 64, 33, 197}})
    for (const Mask mask : {Mask::none, Mask::causal}) {
      SCOPED_TRACE(testing::Message()
                   << heads << " heads of " << head_dim << ", " << rows << " rows, " << columns
                   << " columns, mask " << static_cast<int>(mask));
      const Case given = random_case(heads, head_dim, rows, columns);
      expect_near(attend_to(given, mask), plain_attention(given, mask));
    }
}

TEST(Attention, EqualsThePlainLoopWhenRowsAreSplitIntoBlocks) {
  for (const Mask mask : {Mask::none, Mask::causal}) {
    const Case given = random_case(2, 8, 100, 3001);  // 13 tiles of 7 or 8 rows
    expect_near(attend_to(given, mask), plain_attention(given, mask));
  }
}

TEST(Attention, ServesFewerRowsAndColumnsThanItsScratchIsFor) {
  const Index max_rows = 200, max_columns = 3137;
  Attention attend(2, 8, Mask::none, max_rows, max_columns, 2, heap());
  for (const Index columns : {3000, 700, 3, 1})
    for (const Index rows : {200, 43, 1}) {
      SCOPED_TRACE(testing::Message() << rows << " rows, " << columns << " columns");
      const Case given = random_case(2, 8, rows, columns);
      Matrix<float> output(rows, 16);
      Operations counted;

      attend(given.query.view(), given.context(), {}, output.view(), counted);

      expect_near(output, plain_attention(given, Mask::none));
    }
}

TEST(Attention, HoldsTheScratchThatIsDocumented) {
  struct Shape {
    Index max_rows, max_columns, floats_per_thread;
  };
  for (const auto& [max_rows, max_columns, floats] :
       {Shape{10, 20, 32 * 4 + 20 * 32 + 9 * 32},
        Shape{5000, 3137, 3168 * 4 + 3137 * 32 + 9 * 3168},
        Shape{5, 200000, 200000 * (4 + 32) + 6 * 200000}}) {
    TrackingResource memory;
    const Attention attend(2, 4, Mask::none, max_rows, max_columns, 3, &memory);
    EXPECT_EQ(memory.held_bytes(), 3 * floats * static_cast<Index>(sizeof(float)));
  }
}

Case golden_case() {
  const SafetensorsFile file = test::open_golden("units");
  const Matrix<float> keys = test::golden_matrix(file, "attention.k");
  const Matrix<float> values = test::golden_matrix(file, "attention.v");
  const Index heads = file.integers("attention.heads")[0], hidden = keys.cols();
  Case result{heads,
              hidden / heads,
              test::golden_matrix(file, "attention.q"),
              Matrix<float>(keys.rows(), 2 * hidden),
              {},
              file.integers("attention.last"),
              file.integers("attention.position")};
  copy(std::as_const(keys).view(), result.kv.view().cols(0, hidden));
  copy(std::as_const(values).view(), result.kv.view().cols(hidden, hidden));
  for (const float count : file.floats("attention.counts"))
    result.log_counts.push_back(std::log(count));  // log 0 is -infinity
  return result;
}

TEST(Attention, GivesTheGoldenValues) {
  const SafetensorsFile file = test::open_golden("units");
  const Case given = golden_case();

  // Scores of 150 are rounded by 1e-5, which exp turns into a relative error.
  expect_near(attend_to(given, Mask::none), test::golden_matrix(file, "attention.full"), 3e-5);
  expect_near(attend_to(given, Mask::causal), test::golden_matrix(file, "attention.causal"), 3e-5);
}

/// One query, head and value each: column j scores `scores[j]` and has the value j + 1.
float attend_to_scores(const std::vector<float>& scores, const std::vector<float>& log_counts) {
  Case given{1,
             1,
             Matrix<float>(1, 1),
             Matrix<float>(std::ssize(scores), 2),
             log_counts,
             std::vector<std::int32_t>(scores.size(), 0),
             {0}};
  given.query(0, 0) = 1;
  for (Index j = 0; j < given.kv.rows(); ++j) {
    given.kv(j, 0) = scores[static_cast<std::size_t>(j)];
    given.kv(j, 1) = static_cast<float>(j + 1);
  }
  return attend_to(given, Mask::none)(0, 0);
}

TEST(Attention, SurvivesLargeScores) {
  EXPECT_FLOAT_EQ(attend_to_scores({150, -150}, {0, 0}), 1.0F);
  EXPECT_FLOAT_EQ(attend_to_scores({-150, -150}, {0, 0}), 1.5F);
  EXPECT_FLOAT_EQ(attend_to_scores({1e30F, 150}, {0, 0}), 1.0F);
  EXPECT_FLOAT_EQ(attend_to_scores({-1e30F, -1e30F}, {0, kNever}), 1.0F);
}

TEST(Attention, TheMaximumIsTakenOverVisibleColumnsOnly) {
  // With the hidden score of 200 as the maximum both others would vanish.
  EXPECT_FLOAT_EQ(attend_to_scores({0, 0, 200}, {0, 0, kNever}), 1.5F);
}

TEST(Attention, WeightsColumnsByTheirRepeatCount) {
  EXPECT_FLOAT_EQ(attend_to_scores({1, 1}, {0, std::log(3.0F)}), 1.75F);  // (1 + 3 * 2) / 4
}

TEST(Attention, DoesNotDependOnTheOrderOfColumns) {
  const Case given = random_case(3, 16, 17, 41);
  Case shuffled = random_case(3, 16, 17, 41);
  for (Index j = 0; j < 41; ++j) {
    const Index from = j * 17 % 41;
    std::ranges::copy(given.kv.view().row(from), shuffled.kv.view().row(j).begin());
    shuffled.log_counts[static_cast<std::size_t>(j)] =
        given.log_counts[static_cast<std::size_t>(from)];
    shuffled.last[static_cast<std::size_t>(j)] = given.last[static_cast<std::size_t>(from)];
  }
  for (const Mask mask : {Mask::none, Mask::causal})
    expect_near(attend_to(shuffled, mask), attend_to(given, mask));
}

TEST(Attention, ThreadsDoNotChangeTheResult) {
  const Case given = random_case(3, 16, 40, 3500);
  const int before = threads();

  const Matrix<float> one = attend_to(given, Mask::none, 1);
  const Matrix<float> three = attend_to(given, Mask::none, 3);

  EXPECT_TRUE(std::ranges::equal(one.view().elements(), three.view().elements()));
  EXPECT_EQ(threads(), before);
}

TEST(Attention, ReadsAndWritesStridedViews) {
  const Case given = random_case(2, 8, 9, 13);
  Matrix<float> wide_query(9, 40), wide_output(9, 50);
  copy(given.query.view(), wide_query.view().cols(5, 16));
  Attention attend(2, 8, Mask::none, 9, 13, 2, heap());
  Operations counted;

  attend(wide_query.view().cols(5, 16), given.context(), {}, wide_output.view().cols(11, 16),
         counted);

  expect_near(test::copy_of(wide_output.view().cols(11, 16)), plain_attention(given, Mask::none));
  EXPECT_EQ(wide_output(0, 10), 0.0F);
  EXPECT_EQ(wide_output(8, 27), 0.0F);
}

TEST(Attention, CountsHiddenColumnsLikeTheOthers) {
  const Case given = random_case(3, 4, 5, 7);
  Attention attend(3, 4, Mask::causal, 5, 7, 1, heap());
  Matrix<float> output(5, 12);
  Operations counted;

  attend(given.query.view(), given.context(), given.positions, output.view(), counted);

  EXPECT_EQ(counted, (Operations{.matmul_macs = 2 * 5 * 7 * 12, .softmax_elements = 3 * 5 * 7}));
}

TEST(Attention, AQueryThatSeesNothingIsAnInputError) {
  Case hidden = random_case(2, 4, 5, 9), early = random_case(2, 4, 5, 9);
  std::ranges::fill(hidden.log_counts, kNever);
  early.positions[2] = -1;  // before every column

  EXPECT_THROW(attend_to(hidden, Mask::none), InputError);
  EXPECT_THROW(attend_to(early, Mask::causal), InputError);
  EXPECT_NO_THROW(attend_to(early, Mask::none));
}

TEST(Attention, WithoutColumnsIsAnInputError) {
  Attention attend(2, 4, Mask::none, 5, 9, 1, heap());
  Matrix<float> rows(1, 8);
  Operations counted;

  EXPECT_THROW(attend(rows.view(), KvContext(9, 8, heap()), {}, rows.view(), counted), InputError);
}

TEST(Attention, BrokenWeightsGiveNanInsteadOfBlamingTheInput) {
  Case given = random_case(1, 4, 1, 3);
  std::ranges::fill(given.query.view().elements(), NAN);

  EXPECT_TRUE(std::isnan(attend_to(given, Mask::none)(0, 0)));
}

TEST(Attention, RefusesWhatItsScratchIsNotFor) {
  const Case given = random_case(2, 4, 5, 9);
  Matrix<float> output(5, 8);
  Operations counted;
  Attention few_rows(2, 4, Mask::none, 4, 9, 1, heap()),
      few_columns(2, 4, Mask::none, 5, 8, 1, heap());
  Attention causal(2, 4, Mask::causal, 5, 9, 1, heap());

  EXPECT_THROW(few_rows(given.query.view(), given.context(), {}, output.view(), counted), Error);
  EXPECT_THROW(few_columns(given.query.view(), given.context(), {}, output.view(), counted), Error);
  EXPECT_THROW(causal(given.query.view(), given.context(), {}, output.view(), counted), Error);
}

}  // namespace
}  // namespace thinwire::ops
