#include "thinwire/train/candidate_rows.hpp"

#include <gtest/gtest.h>

#include "support/local_run.hpp"

namespace thinwire::train {
namespace {

std::vector<float> first_values(const CandidateRows& candidates) {
  std::vector<float> values;
  for (const CandidateRows::Row& row : candidates.best()) values.push_back(row.values.front());
  return values;
}

void offer(CandidateRows& candidates, double key, float value) {
  candidates.offer(key, std::vector<float>{value, -value});
}

TEST(CandidateRows, KeepThoseWithTheGreatestKeys) {
  CandidateRows candidates(3);
  for (int i = 0; i < 50; ++i) offer(candidates, (i * 7) % 50, static_cast<float>(i));

  // 7 i mod 50 is 49, 48, 47 for i = 7, 14, 21.
  EXPECT_EQ(first_values(candidates), (std::vector<float>{7, 14, 21}));
}

TEST(CandidateRows, EqualKeysGoToTheRowOfferedFirst) {
  CandidateRows candidates(2);
  for (int i = 0; i < 9; ++i) offer(candidates, 1, static_cast<float>(i));

  EXPECT_EQ(first_values(candidates), (std::vector<float>{0, 1}));
}

TEST(CandidateRows, ARowIsGivenOnce) {
  CandidateRows candidates(3);
  for (const double key : {3.0, 2.0, 1.0}) offer(candidates, key, 5);

  EXPECT_EQ(first_values(candidates), (std::vector<float>{5}));
}

TEST(CandidateRows, WithoutCapacityNothingIsKept) {
  CandidateRows candidates(0);
  offer(candidates, 1, 1);

  EXPECT_FALSE(candidates.is_open());
  EXPECT_TRUE(candidates.best().empty());
}

TEST(CandidateRows, ReduceGivesEveryRankTheBestOfAll) {
  std::vector<std::vector<float>> found(3);
  test::on_devices(3, [&](fabric::Transport& ranks) {
    CandidateRows candidates(2);
    if (ranks.rank() != 1)  // a rank may have none
      for (int i = 0; i < 4; ++i)
        offer(candidates, 10 * i + ranks.rank(), float(10 * i + ranks.rank()));
    candidates.reduce(ranks);
    found[static_cast<std::size_t>(ranks.rank())] = first_values(candidates);
  });

  for (const auto& values : found) EXPECT_EQ(values, (std::vector<float>{32, 30}));
}

}  // namespace
}  // namespace thinwire::train
