#include "thinwire/model/model_config.hpp"

#include <gtest/gtest.h>

#include "support/messages.hpp"
#include "thinwire/base/error.hpp"

namespace thinwire::model {
namespace {

TEST(Presets, AllShareTheBaseSize) {
  for (const std::string_view name : preset_names()) {
    SCOPED_TRACE(name);

    const ModelConfig config = preset(name);

    EXPECT_EQ(config.name, name);
    EXPECT_TRUE(is_preset(name));
    EXPECT_FALSE(preset_summary(name).empty());
    EXPECT_EQ(config.hidden, 768);
    EXPECT_EQ(config.layers, 12);
    EXPECT_EQ(config.heads, 12);
    EXPECT_EQ(config.ffn, 3072);
    EXPECT_EQ(config.head_dim(), 64);
  }
}

TEST(Presets, VitTakesOnePatchATokenAndAClassToken) {
  const ModelConfig config = preset("vit-base-16");

  EXPECT_EQ(config.tokens, 197);
  EXPECT_EQ(config.max_tokens, 197);
  EXPECT_EQ(config.patches(), 196);
  EXPECT_EQ(config.patch_inputs(), 768);
  EXPECT_EQ(config.image_size, 224);
  EXPECT_EQ(config.labels, 1000);
  EXPECT_EQ(config.gelu, Gelu::erf);
  EXPECT_EQ(config.layer_norm_epsilon, 1e-12F);
  EXPECT_EQ(config.head, HeadKind::class_token);
  EXPECT_EQ(config.norm_order(), NormOrder::pre);
}

TEST(Presets, BertIsPostNormWithAPooler) {
  const ModelConfig config = preset("bert-base");

  EXPECT_EQ(config.tokens, 256);
  EXPECT_EQ(config.max_tokens, 512);
  EXPECT_EQ(config.vocabulary, 30522);
  EXPECT_EQ(config.token_types, 2);
  EXPECT_EQ(config.labels, 2);
  EXPECT_EQ(config.layer_norm_epsilon, 1e-12F);
  EXPECT_EQ(config.head, HeadKind::pooler);
  EXPECT_EQ(config.norm_order(), NormOrder::post);
  EXPECT_FALSE(config.is_causal());
}

TEST(Presets, Gpt2IsCausalWithTheTanhForm) {
  const ModelConfig config = preset("gpt2");

  EXPECT_EQ(config.tokens, 256);
  EXPECT_EQ(config.max_tokens, 1024);
  EXPECT_EQ(config.vocabulary, 50257);
  EXPECT_EQ(config.gelu, Gelu::tanh);
  EXPECT_EQ(config.layer_norm_epsilon, 1e-5F);
  EXPECT_EQ(config.head, HeadKind::language_model);
  EXPECT_TRUE(config.is_causal());
}

TEST(Presets, VivitSpansTwoFramesATubelet) {
  const ModelConfig config = preset("vivit-base-16x2");

  EXPECT_EQ(config.tokens, 3137);
  EXPECT_EQ(config.frames, 32);
  EXPECT_EQ(config.patch_inputs(), 2 * 3 * 16 * 16);
  EXPECT_EQ(config.labels, 400);
  EXPECT_EQ(config.gelu, Gelu::tanh);
  EXPECT_EQ(config.layer_norm_epsilon, 1e-6F);
}

TEST(Presets, AnUnknownNameIsAnsweredWithTheKnownOnes) {
  const std::string message = test::input_error([] { preset("bert-bas"); });

  EXPECT_FALSE(is_preset("bert-bas"));
  EXPECT_TRUE(test::mentions(message, {"bert-bas", "vit-base-16", "did you mean bert-base"}));
}

}  // namespace
}  // namespace thinwire::model
