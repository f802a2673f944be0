#include "thinwire/eval/metric.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "support/messages.hpp"

namespace thinwire::eval {
namespace {

// Sixty samples by formula. The expected values were computed once from the same formulas in Python
// with scipy 1.17.1 (spearmanr, pearsonr), scikit-learn 1.9.1 (accuracy_score, f1_score with
// average="macro" for three classes, matthews_corrcoef, roc_auc_score; the best threshold by trying
// each) and numpy 2.4.6 (percentile). Resamples were drawn with a copy of base/random in Python.
constexpr int kSamples = 60;
constexpr double kRounding = 1e-12;
constexpr std::uint64_t kSeed = 42;

std::vector<SampleScore> three_classes() {
  std::vector<SampleScore> scores;
  for (int i = 0; i < kSamples; ++i) {
    const int label = i * i % 7 % 3;
    scores.push_back(
        {.predicted = i % 4 == 0 ? (i / 4 * 2 + 1) % 3 : label, .label = label, .classes = 3});
  }
  return scores;
}

std::vector<SampleScore> two_classes() {
  std::vector<SampleScore> scores;
  for (int i = 0; i < kSamples; ++i) {
    const int label = i * 5 % 7 < 3 ? 1 : 0;
    scores.push_back({.predicted = i % 5 == 0 ? 1 - label : label, .label = label, .classes = 2});
  }
  return scores;
}

/// Predictions and targets with ties; `noise` moves the predictions.
std::vector<SampleScore> similarities(bool noise = false) {
  std::vector<SampleScore> scores;
  for (int i = 0; i < kSamples; ++i) {
    const double x = (i * 37 % 41) / 8.0;
    scores.push_back({.prediction = x, .target = x + (i * 53 % 29) / 4.0});
  }
  scores[7].prediction = scores[8].prediction;
  for (int i = 0; noise && i < kSamples; ++i)
    scores[static_cast<std::size_t>(i)].prediction += (i * 29 % 31) / 4.0;
  return scores;
}

std::vector<SampleScore> pairs_with_labels() {
  std::vector<SampleScore> scores = two_classes();
  for (int i = 0; i < kSamples; ++i) {
    SampleScore& score = scores[static_cast<std::size_t>(i)];
    score.prediction = (i * 37 % 41 + 10 * score.label) / 3 / 4.0;
  }
  return scores;
}

std::vector<SampleScore> texts() {
  std::vector<SampleScore> scores;
  for (int i = 0; i < kSamples; ++i)
    scores.push_back({.loss = 1 + (i * 37 % 41) / 8.0,
                      .predictions = 3 + i % 5,
                      .bytes = 2 + i % 7,
                      .characters = 1 + i % 7});
  return scores;
}

TEST(MetricValue, EqualsScikitLearnForClasses) {
  EXPECT_NEAR(metric_value(Metric::accuracy, three_classes()), 0.8333333333333334, kRounding);
  EXPECT_NEAR(metric_value(Metric::f1, three_classes()), 0.7974358974358976, kRounding);
  EXPECT_NEAR(metric_value(Metric::matthews, three_classes()), 0.7224036823618646, kRounding);
  EXPECT_NEAR(metric_value(Metric::accuracy, two_classes()), 0.8, kRounding);
  EXPECT_NEAR(metric_value(Metric::f1, two_classes()), 0.7692307692307693, kRounding);
  EXPECT_NEAR(metric_value(Metric::matthews, two_classes()), 0.5927601809954751, kRounding);
}

TEST(MetricValue, EqualsScipyForCorrelationsWithTies) {
  EXPECT_NEAR(metric_value(Metric::spearman, similarities()), 0.5804694587014915, kRounding);
  EXPECT_NEAR(metric_value(Metric::pearson, similarities()), 0.6010907309016521, kRounding);
}

TEST(MetricValue, EqualsScikitLearnForPairsByCosine) {
  EXPECT_NEAR(metric_value(Metric::roc_auc, pairs_with_labels()), 0.7064479638009049, kRounding);
  EXPECT_NEAR(metric_value(Metric::accuracy_best_threshold, pairs_with_labels()),
              0.6833333333333333, kRounding);
  EXPECT_NEAR(metric_value(Metric::f1_best_threshold, pairs_with_labels()), 0.6666666666666666,
              kRounding);
}

TEST(MetricValue, WeighsTextsByTheirUnits) {
  EXPECT_NEAR(metric_value(Metric::perplexity, texts()), 2.01543153414066, kRounding);
  EXPECT_NEAR(metric_value(Metric::bits_per_byte, texts()), 1.0317232392751856, kRounding);
  const std::vector<SampleScore> unequal = {
      {.loss = std::log(2.0), .predictions = 1, .bytes = 1, .characters = 1},
      {.loss = 5 * std::log(2.0), .predictions = 2, .bytes = 3, .characters = 2}};
  EXPECT_NEAR(metric_value(Metric::perplexity, unequal), 4, kRounding);
  EXPECT_NEAR(metric_value(Metric::bits_per_byte, unequal), 1.5, kRounding);
  EXPECT_NEAR(metric_value(Metric::bits_per_character, unequal), 2, kRounding);
}

TEST(MetricValue, F1OfTwoClassesIsThatOfClassOneWhateverOccurs) {
  const std::vector<SampleScore> negative = {{.predicted = 0, .label = 0, .classes = 2}};
  const std::vector<SampleScore> third = {{.predicted = 0, .label = 0, .classes = 3},
                                          {.predicted = 1, .label = 0, .classes = 3}};

  EXPECT_EQ(metric_value(Metric::f1, negative), 0);  // as scikit-learn: no class 1 anywhere
  EXPECT_NEAR(metric_value(Metric::f1, third), (2.0 / 3 + 0) / 2, kRounding);  // classes 0 and 1
}

TEST(MetricValue, TiesShareTheirRanks) {
  const std::vector<SampleScore> tied = {{.prediction = 1, .target = 10},
                                         {.prediction = 1, .target = 10},
                                         {.prediction = 5, .target = 70},
                                         {.prediction = 9, .target = 71}};

  EXPECT_NEAR(metric_value(Metric::spearman, tied), 1, kRounding);
  std::vector<SampleScore> half = tied;
  half[1].target = 20;
  // The papers' 1 - 6 sum d^2 / (n (n^2 - 1)) would give 0.95: it holds without ties only.
  EXPECT_NEAR(metric_value(Metric::spearman, half), std::sqrt(0.9), kRounding);
}

TEST(MetricValue, CorrelationSurvivesMonotoneMapsOfItsRanks) {
  std::vector<SampleScore> mapped = similarities();
  for (SampleScore& score : mapped) score.prediction = std::exp(score.prediction) * 1e6 - 3;

  EXPECT_EQ(metric_value(Metric::spearman, mapped), metric_value(Metric::spearman, similarities()));
  for (SampleScore& score : mapped) score.target = -score.target;
  EXPECT_NEAR(metric_value(Metric::spearman, mapped),
              -metric_value(Metric::spearman, similarities()), kRounding);
}

TEST(MetricValue, AThresholdLiesBetweenTwoDifferentScores) {
  const std::vector<SampleScore> tied = {{.label = 1, .prediction = 0.5},
                                         {.label = 0, .prediction = 0.5},
                                         {.label = 0, .prediction = 0.5}};

  EXPECT_NEAR(metric_value(Metric::accuracy_best_threshold, tied), 2.0 / 3, kRounding);
  EXPECT_NEAR(metric_value(Metric::f1_best_threshold, tied), 0.5, kRounding);  // all of them above
  EXPECT_NEAR(metric_value(Metric::roc_auc, tied), 0.5, kRounding);
}

TEST(MetricValue, IsNaNWhereThereIsNone) {
  const std::vector<SampleScore> one = {{.predicted = 1, .label = 1, .prediction = 1}};
  std::vector<SampleScore> constant = similarities();
  for (SampleScore& score : constant) score.prediction = 0.1;

  for (const Metric metric : {Metric::spearman, Metric::pearson}) {
    EXPECT_TRUE(std::isnan(metric_value(metric, one)));
    EXPECT_TRUE(std::isnan(metric_value(metric, constant)));
  }
  EXPECT_TRUE(std::isnan(metric_value(Metric::roc_auc, one)));
  EXPECT_TRUE(std::isnan(metric_value(Metric::perplexity, one)));
  EXPECT_TRUE(std::isnan(metric_value(Metric::bits_per_character, one)));
  for (const Metric metric : {Metric::accuracy, Metric::f1, Metric::matthews, Metric::spearman,
                              Metric::accuracy_best_threshold, Metric::roc_auc, Metric::cloze})
    EXPECT_TRUE(std::isnan(metric_value(metric, {})));
}

TEST(MetricValue, MatthewsOfOneClassIsZero) {  // as scikit-learn has it
  const std::vector<SampleScore> scores = {{.predicted = 0, .label = 1, .classes = 2},
                                           {.predicted = 1, .label = 1, .classes = 2}};

  EXPECT_EQ(metric_value(Metric::matthews, scores), 0);
}

TEST(MetricValue, DoesNotDependOnTheOrderOfSamples) {
  std::vector<SampleScore> classes = three_classes(), pairs = similarities();
  std::ranges::reverse(classes);
  std::ranges::reverse(pairs);

  EXPECT_NEAR(metric_value(Metric::f1, classes), metric_value(Metric::f1, three_classes()),
              kRounding);
  EXPECT_NEAR(metric_value(Metric::spearman, pairs), metric_value(Metric::spearman, similarities()),
              kRounding);
}

void expect_interval(const Interval& interval, double low, double high) {
  EXPECT_NEAR(interval.low, low, 1e-11);
  EXPECT_NEAR(interval.high, high, 1e-11);
}

TEST(Bootstrap, EqualsTheSameResamplesInPython) {
  expect_interval(bootstrap_95(Metric::spearman, similarities(), kSeed), 0.3739885475631,
                  0.7294781010088);
  expect_interval(bootstrap_95(Metric::f1, three_classes(), kSeed), 0.6765260133091,
                  0.9005780601508);
  expect_interval(bootstrap_95(Metric::roc_auc, pairs_with_labels(), kSeed), 0.5729508627946,
                  0.8328009362254);
}

TEST(Bootstrap, OfAChangeDrawsTheSameSamplesOfBoth) {
  const Interval change =
      bootstrap_change_95(Metric::spearman, similarities(), similarities(true), kSeed);
  const Interval none = bootstrap_change_95(Metric::f1, three_classes(), three_classes(), kSeed);

  expect_interval(change, -0.0394619493848, 0.3460373583732);
  expect_interval(none, 0, 0);
  EXPECT_THROW(bootstrap_change_95(Metric::f1, three_classes(), {}, kSeed), Error);
}

TEST(Bootstrap, HoldsTheValue) {
  const std::vector<SampleScore> scores = two_classes();
  for (const Metric metric : {Metric::accuracy, Metric::f1, Metric::matthews}) {
    SCOPED_TRACE(metric_name(metric));
    const Interval interval = bootstrap_95(metric, scores, kSeed);

    EXPECT_LT(interval.low, metric_value(metric, scores));
    EXPECT_GT(interval.high, metric_value(metric, scores));
  }
}

TEST(Bootstrap, DependsOnTheSeedAlone) {
  const Interval once = bootstrap_95(Metric::pearson, similarities(), 1),
                 again = bootstrap_95(Metric::pearson, similarities(), 1),
                 other = bootstrap_95(Metric::pearson, similarities(), 2);

  expect_interval(again, once.low, once.high);
  EXPECT_NE(once.low, other.low);
  EXPECT_NE(once.high, other.high);
}

TEST(Bootstrap, OfOneSampleHasNoWidth) {
  const std::vector<SampleScore> one = {{.predicted = 1, .label = 1, .classes = 2}};

  expect_interval(bootstrap_95(Metric::accuracy, one, kSeed), 1, 1);
  EXPECT_TRUE(std::isnan(bootstrap_95(Metric::spearman, one, kSeed).low));
  EXPECT_TRUE(std::isnan(bootstrap_95(Metric::accuracy, {}, kSeed).high));
}

TEST(MetricName, IsReadBack) {
  for (const Metric metric : {Metric::accuracy, Metric::bits_per_byte, Metric::roc_auc})
    EXPECT_EQ(metric_named(metric_name(metric)), metric);
  EXPECT_TRUE(test::mentions(test::input_error([] { metric_named("acuracy"); }),
                             {"metric=acuracy", "did you mean accuracy?", "spearman"}));
  EXPECT_TRUE(is_higher_better("cloze"));
  EXPECT_TRUE(is_higher_better("right answers"));
  EXPECT_FALSE(is_higher_better("perplexity"));
}

}  // namespace
}  // namespace thinwire::eval
