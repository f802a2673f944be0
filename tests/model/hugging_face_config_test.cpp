#include <gtest/gtest.h>

#include "support/messages.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/model/model_config.hpp"

namespace thinwire::model {
namespace {

Json golden_json(const std::string& model) {
  return read_json(std::filesystem::path(THINWIRE_TEST_DATA) / "golden" / "models" / model /
                   "config.json");
}

ModelConfig read(const Json& json, bool has_classifier = true) {
  return config_from_hugging_face(json, "tiny", has_classifier);
}

TEST(HuggingFaceConfig, ReadsVit) {
  const ModelConfig config = read(golden_json("vit-tiny"));

  EXPECT_EQ(config.name, "tiny");
  EXPECT_EQ(config.family, Family::vit);
  EXPECT_EQ(config.tokens, 17);
  EXPECT_EQ(config.max_tokens, 17);
  EXPECT_EQ(config.hidden, 48);
  EXPECT_EQ(config.layers, 3);
  EXPECT_EQ(config.heads, 3);
  EXPECT_EQ(config.ffn, 96);
  EXPECT_EQ(config.patch, 8);
  EXPECT_EQ(config.gelu, Gelu::erf);
  EXPECT_EQ(config.layer_norm_epsilon, 1e-6F);
  EXPECT_EQ(config.labels, 10);
  ASSERT_EQ(config.label_names.size(), 10U);
  EXPECT_EQ(config.label_names[9], "LABEL_9");
}

TEST(HuggingFaceConfig, ReadsVivit) {
  const ModelConfig config = read(golden_json("vivit-tiny"));

  EXPECT_EQ(config.family, Family::vivit);
  EXPECT_EQ(config.tokens, 9);
  EXPECT_EQ(config.frames, 4);
  EXPECT_EQ(config.tubelet_frames, 2);
  EXPECT_EQ(config.patch, 8);
  EXPECT_EQ(config.gelu, Gelu::tanh);
  EXPECT_EQ(config.labels, 5);
}

TEST(HuggingFaceConfig, BertGetsItsHeadFromTheCheckpoint) {
  const Json json = golden_json("bert-tiny");

  const ModelConfig classifier = read(json, true), encoder = read(json, false);

  EXPECT_EQ(classifier.head, HeadKind::pooler);
  EXPECT_EQ(classifier.labels, 2);  // no id2label: Hugging Face's default
  EXPECT_EQ(classifier.max_tokens, 64);
  EXPECT_EQ(classifier.tokens, 64);
  EXPECT_EQ(encoder.head, HeadKind::mean_pooling);
  EXPECT_EQ(encoder.labels, 0);
}

TEST(HuggingFaceConfig, Gpt2WithoutInnerSizeHasFourTimesTheHidden) {
  Json json = golden_json("gpt2-tiny");

  EXPECT_EQ(read(json).ffn, 192);
  json["n_inner"] = 100;
  EXPECT_EQ(read(json).ffn, 100);
}

TEST(HuggingFaceConfig, ReadsAllTanhFormsOfGelu) {
  Json json = golden_json("vit-tiny");
  for (const char* name : {"gelu_new", "gelu_fast", "gelu_pytorch_tanh"}) {
    json["hidden_act"] = name;
    EXPECT_EQ(read(json).gelu, Gelu::tanh) << name;
  }
}

TEST(HuggingFaceConfig, ReadsThatQkvHasNoBias) {
  Json json = golden_json("vit-tiny");
  EXPECT_TRUE(read(json).qkv_bias);
  json["qkv_bias"] = false;
  EXPECT_FALSE(read(json).qkv_bias);
}

/// One key that is changed, and what the message must say.
struct Refusal {
  const char* model;
  const char* key;
  Json value;  // null: the key is taken away
  std::initializer_list<std::string_view> words;
};

TEST(HuggingFaceConfig, RefusesWhatItDoesNotSupport) {
  const Refusal refusals[] = {
      {"vit-tiny", "hidden_act", "relu", {"hidden_act", "relu", "gelu_new"}},
      {"vit-tiny", "hidden_size", nullptr, {"tiny", "hidden_size", "missing"}},
      {"vit-tiny", "hidden_size", "48", {"hidden_size", "\"48\"", "whole number"}},
      {"vit-tiny", "hidden_size", 0, {"hidden_size", "0", "positive"}},
      {"vit-tiny", "hidden_size", 16777217, {"hidden_size", "16777217", "up to 16777216"}},
      {"vit-tiny", "image_size", 65536, {"3 channels", "65536x65536", "at most"}},
      {"vit-tiny", "num_attention_heads", 5, {"5 heads", "48"}},
      {"vit-tiny", "patch_size", 5, {"patches of 5", "32"}},
      {"vit-tiny", "layer_norm_eps", "tiny", {"layer_norm_eps"}},
      {"vit-tiny", "model_type", "swin", {"model_type", "swin", "vivit"}},
      {"vit-tiny", "model_type", nullptr, {"model_type", "missing"}},
      {"bert-tiny", "problem_type", "multi_label_classification", {"problem_type", "multi_label"}},
      {"bert-tiny", "problem_type", "regression", {"problem_type", "2 labels"}},
      {"vit-tiny", "id2label", {{"0", "cat"}, {"2", "dog"}}, {"id2label", "\"1\""}},
      {"vivit-tiny", "tubelet_size", {2, 8, 4}, {"tubelet_size", "[2,8,4]"}},
      {"vivit-tiny", "num_frames", 5, {"2 frames", "5 frames"}},
      {"bert-tiny", "position_embedding_type", "relative_key", {"relative_key", "absolute"}},
      {"bert-tiny", "is_decoder", true, {"is_decoder", "true", "only false"}},
      {"gpt2-tiny", "scale_attn_by_inverse_layer_idx", true, {"scale_attn_by_inverse_layer_idx"}},
      {"gpt2-tiny", "scale_attn_weights", false, {"scale_attn_weights"}},
      {"gpt2-tiny", "n_positions", nullptr, {"n_positions", "missing"}}};
  for (const Refusal& refusal : refusals) {
    SCOPED_TRACE(refusal.key);
    Json json = golden_json(refusal.model);
    json[refusal.key] = refusal.value;

    const std::string message = test::input_error([&] { read(json); });

    EXPECT_TRUE(test::mentions(message, refusal.words));
  }
}

}  // namespace
}  // namespace thinwire::model
