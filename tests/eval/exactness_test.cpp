#include "thinwire/eval/exactness.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "support/messages.hpp"

namespace thinwire::eval {
namespace {

using test::mentions;

constexpr OutputAgreement kExact{
    .same_top1 = 1, .kl_divergence = 1e-9, .lost_margin = 0, .cosine = 1};

std::vector<std::string> broken(OutputAgreement agreement) {
  return broken_bounds(agreement);
}

TEST(ExactBounds, HoldForWhatRoundingLeaves) {
  OutputAgreement agreement = kExact;
  agreement.relative_difference = 1e-4;
  agreement.cosine = 0.999991;

  EXPECT_TRUE(broken(agreement).empty());
}

TEST(ExactBounds, AllowInBf16WhatItsRoundingLeaves) {
  OutputAgreement agreement = kExact, other = kExact;
  agreement.relative_difference = 0.01;  // some values rounded to the neighbour, 2^-8 away
  other.same_top1 = 0;
  other.lost_margin = 0.03;

  EXPECT_TRUE(broken_bounds(agreement, exact_bounds(DType::bf16)).empty());
  EXPECT_FALSE(broken_bounds(agreement, exact_bounds(DType::fp32)).empty());
  EXPECT_FALSE(broken_bounds(other, exact_bounds(DType::bf16)).empty());
}

TEST(ExactBounds, AreBrokenOneByOne) {
  OutputAgreement far = kExact, turned = kExact, other = kExact;
  far.relative_difference = 1.1e-4;
  turned.cosine = 0.99998;
  other.same_top1 = 0;
  other.lost_margin = 1e-4;

  ASSERT_EQ(broken(far).size(), 1U);
  EXPECT_TRUE(mentions(broken(far)[0], {"1.1e-04", "1e-04"}));
  ASSERT_EQ(broken(turned).size(), 1U);
  EXPECT_TRUE(mentions(broken(turned)[0], {"0.9999800", "1e-05"}));
  ASSERT_EQ(broken(other).size(), 1U);
  EXPECT_TRUE(mentions(broken(other)[0], {"top-1"}));
}

TEST(ExactBounds, ATieMayBreakEitherWay) {
  OutputAgreement tie = kExact;
  tie.same_top1 = 0;
  tie.lost_margin = 9e-5;

  EXPECT_TRUE(broken(tie).empty());
}

TEST(ExactBounds, EmbeddingsHaveNoTop1) {
  EXPECT_TRUE(broken({.cosine = 1, .relative_difference = 1e-6}).empty());
}

TEST(ExactBounds, NotANumberBreaksThem) {
  const double nan = std::numeric_limits<double>::quiet_NaN();

  EXPECT_EQ(broken({.cosine = nan, .relative_difference = nan}).size(), 2U);
}

}  // namespace
}  // namespace thinwire::eval
