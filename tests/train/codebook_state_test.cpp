#include "thinwire/train/codebook_state.hpp"

#include <gtest/gtest.h>

#include "support/messages.hpp"
#include "support/temporary_folder.hpp"
#include "thinwire/train/principal_axes.hpp"

namespace thinwire::train {
namespace {

/// Two codewords of two values: the means of 10 rows at (1, 2) and of `rows` rows at (-3, 0).
CodebookState two_codewords(double rows) {
  Clusters clusters{Matrix<float>(2, 2), CodeStatistics(2, 2)};
  clusters.statistics.counts = {10, rows};
  clusters.codewords(0, 0) = 1;
  clusters.codewords(0, 1) = 2;
  clusters.codewords(1, 0) = -3;
  for (Index k = 0; k < 2; ++k)
    for (Index c = 0; c < 2; ++c)
      clusters.statistics.sums(k, c) = double{clusters.codewords(k, c)} *
                                       clusters.statistics.counts[static_cast<std::size_t>(k)];
  return CodebookState::from(std::move(clusters));
}

/// Four rows at (3, 4), coded with codeword 0.
CodeStatistics four_rows() {
  CodeStatistics batch(2, 2);
  for (int i = 0; i < 4; ++i) batch.add(std::vector<float>{3, 4}, 0);
  return batch;
}

TEST(FollowBatch, MovesHitsSumsAndCodewordsByOnePercent) {
  CodebookState state = two_codewords(10);

  follow_batch(state, Update::ema, four_rows(), CandidateRows());

  EXPECT_FLOAT_EQ(state.usage(0, 0), 0.99F * 10 + 0.01F * 4);  // 9.94
  EXPECT_FLOAT_EQ(state.sums(0, 0), 0.99F * 10 + 0.01F * 12);  // 10.02
  EXPECT_FLOAT_EQ(state.codewords(0, 0), 10.02F / 9.94F);
  EXPECT_FLOAT_EQ(state.codewords(0, 1), (0.99F * 20 + 0.01F * 16) / 9.94F);
  // No row hit codeword 1: hits and sums decay alike and it stays where it is.
  EXPECT_FLOAT_EQ(state.usage(0, 1), 9.9F);
  EXPECT_FLOAT_EQ(state.codewords(1, 0), -3);
}

TEST(FollowBatch, ReseedsCodewordsThatAreHardlyUsed) {
  CodebookState state = two_codewords(1);  // 0.99 after a batch without hits
  ASSERT_EQ(codewords_at_risk(state), 1);
  CandidateRows candidates(1);
  candidates.offer(1, std::vector<float>{7, 8});

  follow_batch(state, Update::ema, four_rows(), candidates);

  EXPECT_EQ(state.codewords(1, 0), 7);
  EXPECT_EQ(state.codewords(1, 1), 8);
  EXPECT_EQ(state.usage(0, 1), 1);
  EXPECT_EQ(state.sums(1, 1), 8);
  EXPECT_NEAR(state.codewords(0, 0), 1.008, 1e-3);  // the one in use is left alone
}

TEST(FollowBatch, WithoutCandidatesUnusedCodewordsStay) {
  CodebookState state = two_codewords(0.5);

  follow_batch(state, Update::ema, four_rows(), CandidateRows());

  EXPECT_FLOAT_EQ(state.codewords(1, 0), -3);
}

TEST(FollowBatch, GradientStepsTowardsTheMeanOfTheRows) {
  CodebookState state = two_codewords(10);

  follow_batch(state, Update::gradient, four_rows(), CandidateRows());

  EXPECT_FLOAT_EQ(state.codewords(0, 0), 1 + 0.1F * (3 - 1));
  EXPECT_FLOAT_EQ(state.codewords(0, 1), 2 + 0.1F * (4 - 2));
  EXPECT_EQ(state.codewords(1, 0), -3);
}

TEST(FollowBatch, KMeansStaysAsItIs) {
  CodebookState state = two_codewords(0.5);
  CandidateRows candidates(1);
  candidates.offer(1, std::vector<float>{7, 8});

  follow_batch(state, Update::kmeans, four_rows(), candidates);

  EXPECT_EQ(state.codewords(0, 0), 1);
  EXPECT_EQ(state.codewords(1, 0), -3);
}

TEST(FollowBatch, SubspaceKeepsCodewordsInIt) {
  Clusters clusters{Matrix<float>(1, 2), CodeStatistics(1, 2)};
  for (int i = 0; i < 10; ++i) clusters.statistics.add(std::vector<float>{2, 2}, 0);
  clusters.codewords(0, 0) = clusters.codewords(0, 1) = 2;
  Matrix<float> diagonal(1, 2);
  diagonal(0, 0) = diagonal(0, 1) = std::sqrt(0.5F);
  CodebookState state = CodebookState::from(std::move(clusters), std::move(diagonal));
  ASSERT_EQ(state.sums.cols(), 1);
  ASSERT_NEAR(state.codewords(0, 0), 2, 1e-6);
  CodeStatistics batch(1, 2);
  for (int i = 0; i < 10; ++i) batch.add(std::vector<float>{4, 0}, 0);  // (2, 2) on the diagonal
  for (int i = 0; i < 10; ++i) batch.add(std::vector<float>{8, 8}, 0);

  follow_batch(state, Update::subspace, batch, CandidateRows());

  const double expected = (0.99 * 20 + 0.01 * (20 + 80)) / (0.99 * 10 + 0.01 * 20);
  EXPECT_NEAR(state.codewords(0, 0), expected, 1e-5);
  EXPECT_NEAR(state.codewords(0, 1), expected, 1e-5);
}

TEST(CodebookState, IsKeptToTheBit) {
  const test::TemporaryFolder folder;
  CodebookState state = two_codewords(1);
  follow_batch(state, Update::ema, four_rows(), CandidateRows());
  SafetensorsWriter writer;
  state.save(writer, "x");
  writer.write(folder / "state.safetensors");

  const CodebookState read =
      CodebookState::load(SafetensorsFile(folder / "state.safetensors"), "x");

  EXPECT_TRUE(
      std::ranges::equal(read.codewords.view().elements(), state.codewords.view().elements()));
  EXPECT_TRUE(std::ranges::equal(read.usage.view().elements(), state.usage.view().elements()));
  EXPECT_TRUE(std::ranges::equal(read.sums.view().elements(), state.sums.view().elements()));
  EXPECT_EQ(read.axes.rows(), 0);
}

TEST(Update, UnknownNamesAreRefused) {
  const std::string message = test::input_error([] { parse_update("em"); });

  EXPECT_TRUE(test::mentions(message, {"update=em", "ema", "subspace", "gradient", "kmeans"}));
  for (const std::string_view name : update_names()) EXPECT_EQ(to_string(parse_update(name)), name);
}

}  // namespace
}  // namespace thinwire::train
