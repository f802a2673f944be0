#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "thinwire/model/weight_source.hpp"
#include "thinwire/ops/runtime.hpp"

namespace thinwire::model {
namespace {

std::vector<float> values(const std::string& name, std::initializer_list<Index> shape,
                          std::uint64_t seed = 7) {
  std::vector<float> scratch;
  const auto view =
      random_weights(preset("vit-base-16"), seed)->values(name, std::vector(shape), scratch);
  return {view.begin(), view.end()};
}

TEST(RandomWeights, AreTheSameOnEveryPlatform) {
  const std::vector<float> weights =
      values("encoder.layer.0.intermediate.dense.weight", {3072, 768});

  EXPECT_FLOAT_EQ(weights[0], -0.018096995F);
  EXPECT_FLOAT_EQ(weights[1], 0.020974675F);
  EXPECT_FLOAT_EQ(weights[100000], -0.0063195429F);
  EXPECT_FLOAT_EQ(weights[3072 * 768 - 1], 0.020595364F);
}

TEST(RandomWeights, DependOnNameAndSeed) {
  EXPECT_EQ(values("a.weight", {5}), values("a.weight", {5}));
  EXPECT_NE(values("a.weight", {5}), values("b.weight", {5}));
  EXPECT_NE(values("a.weight", {5}), values("a.weight", {5}, 8));
}

TEST(RandomWeights, DoNotDependOnThreads) {
  const int threads = ops::threads();
  ops::set_threads(1);
  const std::vector<float> alone = values("a.weight", {1001, 333});
  ops::set_threads(3);
  const std::vector<float> shared = values("a.weight", {1001, 333});
  ops::set_threads(threads);

  EXPECT_EQ(alone, shared);
}

TEST(RandomWeights, HaveTheDeviationOfAnInitialisedModel) {
  const std::vector<float> weights = values("a.weight", {1000, 100});

  double sum = 0, squares = 0;
  for (const float weight : weights) {
    sum += weight;
    squares += weight * weight;
  }
  // Four standard errors: 0.02 / sqrt(1e5), and 0.02 sqrt(0.2 / 1e5) for a uniform distribution.
  EXPECT_NEAR(sum / 1e5, 0, 2.6e-4);
  EXPECT_NEAR(std::sqrt(squares / 1e5), 0.02, 1.2e-4);
}

TEST(RandomWeights, LeaveNormsAndBiasesNeutral) {
  for (const char* name : {"encoder.layer.0.layernorm_before.weight", "h.3.ln_1.weight",
                           "ln_f.weight", "embeddings.LayerNorm.weight", "layernorm.weight"})
    EXPECT_EQ(values(name, {4}), std::vector<float>(4, 1.0F)) << name;
  for (const char* name : {"h.3.ln_1.bias", "classifier.bias", "h.3.attn.c_attn.bias"})
    EXPECT_EQ(values(name, {4}), std::vector<float>(4, 0.0F)) << name;
}

TEST(RandomWeights, HaveAFingerprintOfConfigurationAndSeed) {
  ModelConfig config = preset("bert-base");
  const std::string one = random_weights(config, 1)->fingerprint();

  EXPECT_EQ(one.size(), 16U);
  EXPECT_EQ(one, random_weights(config, 1)->fingerprint());
  EXPECT_NE(one, random_weights(config, 2)->fingerprint());
  config.heads = 6;
  EXPECT_NE(one, random_weights(config, 1)->fingerprint());
}

}  // namespace
}  // namespace thinwire::model
