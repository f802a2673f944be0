#include "thinwire/model/model_config.hpp"

#include <algorithm>
#include <array>

#include "thinwire/base/error.hpp"
#include "thinwire/base/named.hpp"

namespace thinwire::model {
namespace {

/// What all four published base models share.
ModelConfig base_size(std::string_view name, Family family) {
  ModelConfig config;
  config.name = name;
  config.family = family;
  config.hidden = 768;
  config.layers = 12;
  config.heads = 12;
  config.ffn = 3072;
  return config;
}

ModelConfig vit_base_16() {
  ModelConfig config = base_size("vit-base-16", Family::vit);
  config.image_size = 224;
  config.patch = 16;
  config.tokens = config.max_tokens = 14 * 14 + 1;
  config.labels = 1000;
  config.head = HeadKind::class_token;
  return config;
}

ModelConfig bert_base() {
  ModelConfig config = base_size("bert-base", Family::bert);
  config.tokens = 256;
  config.max_tokens = 512;
  config.vocabulary = 30522;
  config.token_types = 2;
  config.labels = 2;
  config.head = HeadKind::pooler;
  return config;
}

ModelConfig gpt2() {
  ModelConfig config = base_size("gpt2", Family::gpt2);
  config.tokens = 256;
  config.max_tokens = 1024;
  config.vocabulary = 50257;
  config.layer_norm_epsilon = 1e-5F;
  config.gelu = Gelu::tanh;
  config.head = HeadKind::language_model;
  return config;
}

ModelConfig vivit_base_16x2() {
  ModelConfig config = base_size("vivit-base-16x2", Family::vivit);
  config.image_size = 224;
  config.patch = 16;
  config.frames = 32;
  config.tubelet_frames = 2;
  config.tokens = config.max_tokens = 16 * 14 * 14 + 1;
  config.labels = 400;
  config.layer_norm_epsilon = 1e-6F;
  config.gelu = Gelu::tanh;
  config.head = HeadKind::class_token;
  return config;
}

struct Preset {
  std::string_view name, summary;
  ModelConfig (*make)();
};
constexpr std::array kPresets = {
    Preset{"vit-base-16", "ViT-B/16, 224x224 pictures, 197 tokens, 1000 labels", vit_base_16},
    Preset{"bert-base", "BERT-base, 256 tokens (at most 512), pooler and 2 labels", bert_base},
    Preset{"gpt2", "GPT-2, 256 tokens (at most 1024), LM head on every row", gpt2},
    Preset{"vivit-base-16x2", "ViViT-B/16x2, 32 frames of 224x224, 3137 tokens, 400 labels",
           vivit_base_16x2}};

constexpr auto kPresetNames = [] {
  std::array<std::string_view, kPresets.size()> names;
  std::ranges::transform(kPresets, names.begin(), &Preset::name);
  return names;
}();

}  // namespace

std::span<const std::string_view> preset_names() {
  return kPresetNames;
}

bool is_preset(std::string_view name) {
  return std::ranges::find(kPresetNames, name) != kPresetNames.end();
}

ModelConfig preset(std::string_view name) {
  return find_named("model", name, kPresets).make();
}

std::string_view preset_summary(std::string_view name) {
  return find_named("model", name, kPresets).summary;
}

}  // namespace thinwire::model
