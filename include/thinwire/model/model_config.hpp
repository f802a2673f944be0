#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thinwire/base/json_fwd.hpp"
#include "thinwire/base/types.hpp"

namespace thinwire::model {

enum class Family { vit, bert, gpt2, vivit };
enum class NormOrder { pre, post };
enum class Gelu { erf, tanh };

/// What comes after the last block (METHODS 6).
enum class HeadKind {
  class_token,     ///< final LayerNorm of every row, linear classifier on row 0 (ViT, ViViT)
  pooler,          ///< tanh pooler on row 0, linear classifier (BERT)
  mean_pooling,    ///< mean of the real tokens' rows: a sentence embedding (BERT without a head)
  language_model,  ///< final LayerNorm, tied LM head on every row (GPT-2)
};

/// Everything about a model that is not a weight. A formula header: no oneDNN, no MPI.
struct ModelConfig {
  std::string name;  ///< preset, or the folder's base name
  Family family = Family::vit;
  Index tokens = 0;       ///< N for pictures and video; the default length for text
  Index max_tokens = 0;   ///< rows of the position table
  Index hidden = 0;       ///< D
  Index layers = 0;       ///< B
  Index heads = 0;        ///< h
  Index ffn = 0;          ///< F
  Index vocabulary = 0;   ///< text models
  Index token_types = 0;  ///< BERT
  Index labels = 0;       ///< classifier outputs; 1: a regression; 0 without a classifier
  float layer_norm_epsilon = 1e-12F;
  Gelu gelu = Gelu::erf;
  bool qkv_bias = true;  ///< false: Q, K and V are projected without a bias
  HeadKind head = HeadKind::class_token;
  // pictures and video
  Index image_size = 0, channels = 3, patch = 0;  ///< square pictures, square patches
  Index frames = 1, tubelet_frames = 1;           ///< video: frames a tubelet spans
  std::vector<std::string> label_names;           ///< id2label, empty when the config has none

  NormOrder norm_order() const { return family == Family::bert ? NormOrder::post : NormOrder::pre; }
  bool is_text() const { return family == Family::bert || family == Family::gpt2; }
  bool is_causal() const { return family == Family::gpt2; }
  bool is_regression() const { return labels == 1; }
  Index head_dim() const { return hidden / heads; }
  /// Inputs of the patch embedding: channels * tubelet_frames * patch * patch.
  Index patch_inputs() const { return channels * tubelet_frames * patch * patch; }
  Index patches() const { return tokens - 1; }  ///< pictures and video: all but the class token
};

/// "vit-base-16", "bert-base", "gpt2", "vivit-base-16x2".
std::span<const std::string_view> preset_names();
bool is_preset(std::string_view name);
/// Throws InputError with the known names and a suggestion.
ModelConfig preset(std::string_view name);
std::string_view preset_summary(std::string_view name);

/// Reads a Hugging Face config.json. `has_classifier` tells whether the checkpoint has the tensor
/// classifier.weight: BERT without it gives embeddings.
/// Throws InputError that names the key that is missing or unsupported.
ModelConfig config_from_hugging_face(const Json& json, std::string name, bool has_classifier);

}  // namespace thinwire::model
