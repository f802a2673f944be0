// The data sets beside a checkout as their README describes them: sizes, and the scores that need
// no model. Without them these tests are skipped.
#include <gtest/gtest.h>

#include <numeric>

#include "thinwire/eval/data_file.hpp"
#include "thinwire/eval/metric.hpp"

namespace thinwire::eval {
namespace {

class ReferenceData : public testing::Test {
 protected:
  /// The file as `config` reads it; nothing where it is not there.
  std::optional<DataFile> open(const std::string& name, const model::ModelConfig& config) {
    const auto path = std::filesystem::path(THINWIRE_SHARED_DIR) / "data" / name;
    if (!std::filesystem::exists(path)) return std::nullopt;
    return std::optional<DataFile>(std::in_place, path, config, preprocessing_for(config, {}));
  }
};

model::ModelConfig bert() {
  return {.name = "bert",
          .family = model::Family::bert,
          .max_tokens = 512,
          .vocabulary = 30522,
          .token_types = 2,
          .head = model::HeadKind::mean_pooling};
}

TEST_F(ReferenceData, SentencesHaveTheLengthsOfTheReadme) {
  const auto padded = open("sts.safetensors", bert()),
             packed = open("sts_packed.safetensors", bert());
  if (!padded || !packed) GTEST_SKIP() << "data/sts*.safetensors is not beside this checkout";

  Index tokens = 0, most = 0;
  for (Index i = 0; i < packed->samples(); ++i)
    for (const Index length : packed->tokens_of(i)) {
      tokens += length;
      most = std::max(most, length);
    }

  EXPECT_EQ(padded->samples(), 3000);
  EXPECT_EQ(packed->samples(), 3000);
  EXPECT_EQ(padded->tokens_of(2999), (std::vector<Index>{64, 64}));
  EXPECT_NEAR(static_cast<double>(tokens) / 6000, 14.08, 0.005);
  EXPECT_EQ(most, 64);
  const Sample with = padded->load(1234), without = packed->load(1234);
  for (std::size_t s = 0; s < 2; ++s) {
    const auto& mask = with.sequences[s].real;
    EXPECT_EQ(std::accumulate(mask.begin(), mask.end(), std::size_t{0}),
              without.sequences[s].ids.size());
  }
  EXPECT_EQ(with.score, without.score);
}

TEST_F(ReferenceData, AlwaysParaphraseScoresAsTheReadmeSays) {
  const auto file = open("mrpc.safetensors", bert());
  if (!file) GTEST_SKIP() << "data/mrpc.safetensors is not beside this checkout";

  std::vector<SampleScore> scores;
  for (Index i = 0; i < file->samples(); ++i)
    scores.push_back({.predicted = 1, .label = *file->load(i).label, .classes = 2});

  EXPECT_EQ(scores.size(), 1725U);
  for (const Metric metric : {Metric::accuracy, Metric::accuracy_best_threshold})
    EXPECT_NEAR(metric_value(metric, scores), 0.66493, 5e-6);
  for (const Metric metric : {Metric::f1, Metric::f1_best_threshold})
    EXPECT_NEAR(metric_value(metric, scores), 0.79875, 5e-6);
  EXPECT_EQ(metric_value(Metric::matthews, scores), 0);
  EXPECT_EQ(metric_value(Metric::roc_auc, scores), 0.5);
}

TEST_F(ReferenceData, PicturesAndTextHaveTheirSizes) {
  const model::ModelConfig vit{.name = "vit",
                               .family = model::Family::vit,
                               .tokens = 65,
                               .max_tokens = 65,
                               .labels = 10,
                               .image_size = 32,
                               .patch = 4};
  const model::ModelConfig gpt2{.name = "gpt2",
                                .family = model::Family::gpt2,
                                .max_tokens = 256,
                                .vocabulary = 256,
                                .head = model::HeadKind::language_model};
  const auto pictures = open("cifar10_test.safetensors", vit);
  const auto text = open("shakespeare.safetensors", gpt2);
  if (!pictures || !text) GTEST_SKIP() << "data/ is not beside this checkout";

  EXPECT_EQ(pictures->samples(), 10'000);
  EXPECT_EQ(pictures->tokens_of(9'999), std::vector<Index>{65});
  EXPECT_EQ(text->samples(), 435);
  EXPECT_EQ(text->load(434).sequences.front().ids.size(), 256U);
  EXPECT_NE(pictures->fingerprint(), text->fingerprint());
}

}  // namespace
}  // namespace thinwire::eval
