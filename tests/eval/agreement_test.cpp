#include "thinwire/eval/agreement.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "thinwire/tensor/matrix.hpp"

namespace thinwire::eval {
namespace {

using enum model::HeadKind;

Matrix<float> matrix(std::initializer_list<std::initializer_list<float>> rows) {
  Matrix<float> values(std::ssize(rows), std::ssize(*rows.begin()));
  Index r = 0;
  for (const auto& row : rows) std::ranges::copy(row, values.view().row(r++).begin());
  return values;
}

OutputAgreement compare(const Matrix<float>& ours, const Matrix<float>& single,
                        model::HeadKind head = class_token) {
  return compare_outputs(ours.view(), single.view(), head);
}

TEST(OutputAgreement, EqualLogitsAgreeInEverything) {
  const Matrix<float> logits = matrix({{3, -1, 0.5F}});

  const OutputAgreement agreement = compare(logits, logits);

  EXPECT_EQ(agreement.same_top1, 1);
  EXPECT_EQ(agreement.kl_divergence, 0);
  EXPECT_EQ(agreement.lost_margin, 0);
  EXPECT_DOUBLE_EQ(agreement.cosine, 1);
  EXPECT_EQ(agreement.relative_difference, 0);
}

TEST(OutputAgreement, TheDivergenceIsOfTheSingleDeviceFromOurs) {
  const auto ln = [](double p) { return static_cast<float>(std::log(p)); };
  const Matrix<float> single = matrix({{ln(0.5), ln(0.25), ln(0.25)}});
  const Matrix<float> ours = matrix({{ln(0.8), ln(0.1), ln(0.1)}});

  // 0.5 ln(0.5 / 0.8) + 2 * 0.25 ln(0.25 / 0.1); the other way round it is 0.1927
  EXPECT_NEAR(*compare(ours, single).kl_divergence, 0.2231436, 1e-6);
  EXPECT_NEAR(*compare(single, ours).kl_divergence, 0.1927450, 1e-6);
}

TEST(OutputAgreement, LargeLogitsDoNotOverflow) {
  const Matrix<float> single = matrix({{1000, -1000}});
  const Matrix<float> ours = matrix({{-1000, 1000}});

  const OutputAgreement agreement = compare(ours, single);

  EXPECT_DOUBLE_EQ(*agreement.kl_divergence, 2000);  // p = (1, 0), ln q = (-2000, 0)
  EXPECT_EQ(agreement.same_top1, 0);
  EXPECT_EQ(agreement.lost_margin, 2);
  EXPECT_DOUBLE_EQ(agreement.cosine, -1);
  EXPECT_EQ(agreement.relative_difference, 2);
}

TEST(OutputAgreement, AnotherTopClassIsJudgedByTheSingleDevicesMargin) {
  const Matrix<float> single = matrix({{4, 3.9F, -5}});
  const Matrix<float> ours = matrix({{3.9F, 4, -5}});

  const OutputAgreement agreement = compare(ours, single, pooler);

  EXPECT_EQ(agreement.same_top1, 0);
  EXPECT_NEAR(*agreement.lost_margin, 0.1 / 5, 1e-7);
}

TEST(OutputAgreement, TiesAreTheLowerClass) {
  EXPECT_EQ(compare(matrix({{2, 2, 1}}), matrix({{2, 1, 2}})).same_top1, 1);
  EXPECT_EQ(compare(matrix({{1, 2, 2}}), matrix({{2, 2, 1}})).same_top1, 0);
}

TEST(OutputAgreement, LanguageModelsAreComparedRowByRow) {
  const Matrix<float> single = matrix({{1, 0}, {0, 1}, {4, 0}, {0, 1}});
  const Matrix<float> ours = matrix({{0, 1}, {0, 1}, {4, 0}, {0, 1}});

  const OutputAgreement agreement = compare(ours, single, language_model);

  EXPECT_EQ(agreement.same_top1, 0.75);
  EXPECT_EQ(agreement.cosine, 0.75);               // 0, 1, 1, 1
  EXPECT_EQ(agreement.relative_difference, 0.25);  // 1 of 4, over all rows
  EXPECT_NEAR(*agreement.kl_divergence,            // (p - q) * 1, in one row of four
              (2 / (1 + std::exp(-1.0)) - 1) / 4, 1e-7);
}

TEST(OutputAgreement, EmbeddingsHaveNoClasses) {
  const OutputAgreement agreement = compare(matrix({{1, 1, 0}}), matrix({{1, 0, 0}}), mean_pooling);

  EXPECT_FALSE(agreement.same_top1.has_value());
  EXPECT_FALSE(agreement.kl_divergence.has_value());
  EXPECT_FALSE(agreement.lost_margin.has_value());
  EXPECT_NEAR(agreement.cosine, std::sqrt(0.5), 1e-12);
  EXPECT_EQ(agreement.relative_difference, 1);
}

TEST(OutputAgreement, ARegressionsOneOutputIsNoClass) {
  const OutputAgreement agreement = compare(matrix({{2.5F}}), matrix({{2}}), pooler);

  EXPECT_FALSE(agreement.same_top1.has_value());
  EXPECT_FALSE(agreement.kl_divergence.has_value());
  EXPECT_EQ(agreement.relative_difference, 0.25);
}

TEST(OutputAgreement, NotANumberShows) {
  const float nan = std::numeric_limits<float>::quiet_NaN();

  const OutputAgreement agreement = compare(matrix({{nan, 1, 0}}), matrix({{2, 1, 0}}));

  EXPECT_TRUE(std::isnan(agreement.relative_difference));
  EXPECT_TRUE(std::isnan(*agreement.kl_divergence));
  EXPECT_TRUE(std::isnan(agreement.cosine));
}

TEST(OutputAgreement, OutputsOfDifferentShapesAreRefused) {
  const Matrix<float> one = matrix({{1, 2}});
  const Matrix<float> two = matrix({{1, 2}, {3, 4}});

  EXPECT_THROW(compare(one, two), Error);
  EXPECT_THROW(compare_outputs({}, {}, class_token), Error);
}

TEST(HiddenAgreement, PaddedRowsDoNotCount) {
  const Matrix<float> ours = matrix({{1, 0}, {1, 1}, {9, -9}});
  const Matrix<float> single = matrix({{1, 0}, {2, 0}, {0, 0}});
  model::ModelInput input;
  input.ids = {1, 2, 3};
  input.real = {1, 1, 0};

  const HiddenAgreement agreement = compare_hidden(ours.view(), single.view(), input);

  EXPECT_NEAR(agreement.mean_cosine, (1 + std::sqrt(0.5)) / 2, 1e-12);
  EXPECT_NEAR(agreement.least_cosine, std::sqrt(0.5), 1e-12);
  EXPECT_EQ(agreement.relative_difference, 0.5);
}

}  // namespace
}  // namespace thinwire::eval
