#include "thinwire/base/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

namespace thinwire {
namespace {

TEST(RandomStream, GivesTheSameBitsOnEveryPlatform) {
  // Computed apart, with Python's integers, from the formula of random.cpp.
  const RandomStream stream("block.0.query", 42);

  EXPECT_EQ(stream.bits(0), 0x2cadb2911d9be6c9U);
  EXPECT_EQ(stream.bits(1'000'000'007), 0xa1d69e570189f348U);
}

TEST(RandomStream, DependsOnNameSeedAndPosition) {
  std::set<std::uint64_t> seen;
  for (const std::string_view name : {"a", "b", ""})
    for (const std::uint64_t seed : {0, 1, 2})
      for (std::uint64_t i = 0; i < 100; ++i) seen.insert(RandomStream(name, seed).bits(i));

  EXPECT_EQ(seen.size(), 900U);
}

TEST(RandomStream, UniformIsAMultipleOfItsGrainBelowOne) {
  const RandomStream stream("uniform", 1);
  double sum = 0;
  constexpr int kCount = 100'000;

  for (std::uint64_t i = 0; i < kCount; ++i) {
    const float value = stream.uniform(i);
    ASSERT_GE(value, 0.0F);
    ASSERT_LT(value, 1.0F);
    ASSERT_EQ(std::ldexp(value, 24), std::floor(std::ldexp(value, 24)));
    sum += value;
  }

  EXPECT_NEAR(sum / kCount, 0.5, 5 * std::sqrt(1.0 / 12 / kCount));
}

TEST(RandomStream, FillHasTheGivenDeviation) {
  constexpr int kCount = 200'000;
  std::vector<float> values(kCount);

  RandomStream("weights", 7).fill_symmetric(values, 0.02F);

  double sum = 0, squares = 0;
  for (const float value : values) {
    sum += value;
    squares += double{value} * value;
  }
  const double limit = 0.02 * std::sqrt(3.0);
  EXPECT_LE(std::ranges::max(values), limit * (1 + 1e-6));
  EXPECT_GE(std::ranges::min(values), -limit * (1 + 1e-6));
  EXPECT_GT(std::ranges::max(values), limit * 0.999);
  EXPECT_NEAR(sum / kCount, 0, 5 * 0.02 / std::sqrt(kCount));
  EXPECT_NEAR(std::sqrt(squares / kCount), 0.02, 0.02 * 0.01);
}

TEST(RandomStream, FillMayBeMadeInParts) {
  const RandomStream stream("parts", 3);
  std::vector<float> whole(1001), parts(1001);

  stream.fill_symmetric(whole, 1.5F);
  stream.fill_symmetric(std::span(parts).first(333), 1.5F);
  stream.fill_symmetric(std::span(parts).subspan(333), 1.5F, 333);

  EXPECT_EQ(whole, parts);
}

}  // namespace
}  // namespace thinwire
