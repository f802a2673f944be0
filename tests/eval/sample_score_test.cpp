#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "support/messages.hpp"
#include "thinwire/eval/answer.hpp"
#include "thinwire/eval/metric.hpp"
#include "thinwire/tensor/matrix.hpp"

namespace thinwire::eval {
namespace {

using model::HeadKind;
using Metrics = std::vector<Metric>;

model::ModelConfig config_of(HeadKind head, Index labels = 0) {
  model::ModelConfig config{.name = "tiny", .labels = labels, .head = head};
  config.family = head == HeadKind::language_model ? model::Family::gpt2 : model::Family::bert;
  return config;
}

Matrix<float> matrix(std::initializer_list<std::vector<float>> rows) {
  Matrix<float> values(std::ssize(rows), std::ssize(*rows.begin()));
  Index r = 0;
  for (const auto& row : rows) std::ranges::copy(row, values.view().row(r++).begin());
  return values;
}

model::ModelInput text(std::vector<std::int32_t> ids, std::vector<std::uint8_t> real = {}) {
  model::ModelInput input;
  input.ids = std::move(ids);
  input.real = std::move(real);
  return input;
}

Sample sample_of(std::size_t sequences) {
  Sample sample;
  sample.sequences.resize(sequences);
  return sample;
}

template <class... Outputs>
SampleScore score(const Sample& sample, const model::ModelConfig& config,
                  const Outputs&... outputs) {
  const std::vector<MatrixView<const float>> views = {outputs.view()...};
  return score_sample(sample, config, views);
}

/// -ln softmax(row)[id]
double nats(const std::vector<float>& row, std::size_t id) {
  double sum = 0;
  for (const float logit : row) sum += std::exp(double{logit});
  return std::log(sum) - double{row[id]};
}

TEST(ScoreSample, TakesTheLikeliestClass) {
  Sample sample = sample_of(1);
  sample.label = 2;

  const SampleScore scored = score(sample, config_of(HeadKind::pooler, 3), matrix({{1, 3, 3}}));

  EXPECT_EQ(scored.predicted, 1);  // ties go to the lower class
  EXPECT_EQ(scored.label, 2);
  EXPECT_EQ(scored.classes, 3);
}

TEST(ScoreSample, OneOutputIsARegression) {
  Sample sample = sample_of(1);
  sample.score = 3.5F;
  const model::ModelConfig config = config_of(HeadKind::pooler, 1);

  const SampleScore scored = score(sample, config, matrix({{2.25F}}));

  EXPECT_EQ(scored.prediction, 2.25);
  EXPECT_EQ(scored.target, 3.5);
  EXPECT_EQ(metrics_for(sample, config), (Metrics{Metric::spearman, Metric::pearson}));
}

TEST(ScoreSample, APairIsScoredByItsCosine) {
  Sample scored = sample_of(2), labelled = sample_of(2);
  scored.score = 1.5F;
  labelled.label = 1;
  const model::ModelConfig config = config_of(HeadKind::mean_pooling);

  const SampleScore with_score = score(scored, config, matrix({{3, 0}}), matrix({{4, 4}}));
  const SampleScore with_label = score(labelled, config, matrix({{3, 0}}), matrix({{-1, 0}}));

  EXPECT_NEAR(with_score.prediction, std::sqrt(0.5), 1e-15);
  EXPECT_EQ(with_score.target, 1.5);
  EXPECT_EQ(with_label.prediction, -1);
  EXPECT_EQ(with_label.label, 1);
  EXPECT_EQ(metrics_for(scored, config), (Metrics{Metric::spearman, Metric::pearson}));
  EXPECT_EQ(metrics_for(labelled, config),
            (Metrics{Metric::accuracy_best_threshold, Metric::f1_best_threshold, Metric::roc_auc}));
}

TEST(ScoreSample, EveryTokenButTheFirstIsPredicted) {
  Sample sample = sample_of(1);
  sample.sequences[0] = text({0, 2, 1});
  sample.bytes = 9;
  const model::ModelConfig config = config_of(HeadKind::language_model);

  const SampleScore scored = score(sample, config, matrix({{1, 2, 3}, {0, 5, 1}, {9, 9, 9}}));

  EXPECT_NEAR(scored.loss, nats({1, 2, 3}, 2) + nats({0, 5, 1}, 1), 1e-12);
  EXPECT_EQ(scored.predictions, 2);
  EXPECT_EQ(scored.bytes, 9);
  EXPECT_EQ(metrics_for(sample, config), (Metrics{Metric::bits_per_byte, Metric::perplexity}));
}

TEST(ScoreSample, PaddingIsNotPredicted) {
  Sample packed = sample_of(1), right = sample_of(1), left = sample_of(1);
  packed.sequences[0] = text({0, 2});
  right.sequences[0] = text({0, 2, 0}, {1, 1, 0});
  left.sequences[0] = text({1, 0, 2}, {0, 1, 1});
  const model::ModelConfig config = config_of(HeadKind::language_model);

  const double loss = score(packed, config, matrix({{1, 2, 3}, {4, 5, 6}})).loss;

  EXPECT_EQ(score(right, config, matrix({{1, 2, 3}, {4, 5, 6}, {7, 8, 9}})).loss, loss);
  const SampleScore padded = score(left, config, matrix({{7, 8, 9}, {1, 2, 3}, {4, 5, 6}}));
  EXPECT_EQ(padded.loss, loss);
  EXPECT_EQ(padded.predictions, 1);
}

TEST(ScoreSample, BytesCountThemselves) {
  Sample sample = sample_of(1);
  sample.sequences[0] = text({'a', 0xC3, 0xA4, 'b'});  // a, a umlaut, b
  sample.is_bytes = true;
  const Matrix<float> logits(4, 256);
  const model::ModelConfig config = config_of(HeadKind::language_model);

  const SampleScore scored = score(sample, config, logits);

  EXPECT_EQ(scored.bytes, 3);
  EXPECT_EQ(scored.characters, 2);
  const std::vector scores{scored};
  EXPECT_NEAR(metric_value(Metric::bits_per_byte, scores), 8, 1e-12);
  EXPECT_NEAR(metric_value(Metric::bits_per_character, scores), 12, 1e-12);
  EXPECT_EQ(metrics_for(sample, config).front(), Metric::bits_per_byte);
}

TEST(ScoreSample, AClozeComparesWhatFollowsEachCandidate) {
  Sample sample = sample_of(2);
  sample.sequences[0] = text({0, 1, 2, 2});
  sample.sequences[1] = text({0, 1, 1, 2});
  sample.candidates = {{2, 4}, {2, 4}};
  sample.label = 1;
  const model::ModelConfig config = config_of(HeadKind::language_model);
  // Rows 1 and 2 predict the tokens 2 and 3.
  const Matrix<float> even = matrix({{9, 0, 0}, {0, 0, 0}, {0, 0, 0}, {9, 9, 0}});
  const Matrix<float> likely = matrix({{0, 0, 0}, {0, 2, 0}, {0, 0, 1}, {0, 9, 9}});

  const SampleScore scored = score(sample, config, even, likely);

  EXPECT_EQ(scored.predicted, 1);
  EXPECT_EQ(scored.label, 1);
  EXPECT_EQ(scored.classes, 2);
  EXPECT_NEAR(scored.loss, nats({0, 2, 0}, 1) + nats({0, 0, 1}, 2), 1e-12);
  EXPECT_EQ(scored.predictions, 2);
  EXPECT_EQ(metrics_for(sample, config), Metrics{Metric::cloze});
}

TEST(ScoreSample, CandidatesOfAClozeMayHaveDifferentLengths) {
  Sample sample = sample_of(2);
  sample.sequences[0] = text({0, 1, 1});
  sample.sequences[1] = text({0, 1});
  sample.candidates = {{1, 3}, {1, 2}};
  sample.label = 0;
  const Matrix<float> two = matrix({{0, 0.5F}, {0, 0.5F}, {0, 0}}), one = matrix({{0, 0}, {0, 0}});

  // -ln p is a sum, not a mean: 0.69 of one token is less than twice 0.47.
  EXPECT_EQ(score(sample, config_of(HeadKind::language_model), two, one).predicted, 1);
}

TEST(ScoreSample, WhatCannotBeScoredSaysWhatIsMissing) {
  const Sample single = sample_of(1), pair = sample_of(2);
  Sample labelled = sample_of(1);
  labelled.label = 3;
  Sample labelled_pair = pair;
  labelled_pair.label = 1;
  const auto refusal = [](const Sample& sample, const model::ModelConfig& config) {
    return test::input_error([&] { metrics_for(sample, config); });
  };

  EXPECT_TRUE(test::mentions(refusal(single, config_of(HeadKind::class_token, 10)),
                             {"tiny", "10 classes", "label"}));
  EXPECT_TRUE(
      test::mentions(refusal(labelled, config_of(HeadKind::pooler, 1)), {"one output", "score"}));
  EXPECT_TRUE(test::mentions(refusal(labelled, config_of(HeadKind::mean_pooling)),
                             {"embeddings", "pairs"}));
  EXPECT_TRUE(test::mentions(refusal(pair, config_of(HeadKind::mean_pooling)), {"score", "label"}));
  EXPECT_TRUE(test::mentions(refusal(labelled_pair, config_of(HeadKind::pooler, 2)),
                             {"one sequence, not 2", "token_type_ids"}));
  EXPECT_TRUE(test::mentions(refusal(labelled_pair, config_of(HeadKind::language_model)),
                             {"one sequence, not of 2", "candidate_begin"}));
  EXPECT_TRUE(test::mentions(test::input_error([&] {
                               score(labelled, config_of(HeadKind::pooler, 3), matrix({{1, 2, 3}}));
                             }),
                             {"label 3", "0..2"}));
}

TEST(ScoreSample, ALabelOutsideTheClassesIsRefusedBeforeAnythingIsScored) {
  Sample single = sample_of(1), pair = sample_of(2), cloze = sample_of(2);
  single.label = 3;
  pair.label = 2;
  cloze.label = -1;  // as data sets have it whose answers are kept secret
  cloze.candidates = {{1, 2}, {1, 2}};
  const auto refusal = [](const Sample& sample, const model::ModelConfig& config) {
    return test::input_error([&] { metrics_for(sample, config); });
  };

  EXPECT_TRUE(test::mentions(refusal(single, config_of(HeadKind::pooler, 3)), {"label 3", "0..2"}));
  EXPECT_TRUE(
      test::mentions(refusal(pair, config_of(HeadKind::mean_pooling)), {"label 2", "0..1"}));
  EXPECT_TRUE(
      test::mentions(refusal(cloze, config_of(HeadKind::language_model)), {"label -1", "0..1"}));
}

}  // namespace
}  // namespace thinwire::eval
