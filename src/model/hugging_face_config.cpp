#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "thinwire/base/error.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/base/text.hpp"
#include "thinwire/model/model_config.hpp"

namespace thinwire::model {
namespace {

/// Text models run at this length unless they are told another one.
constexpr Index kDefaultTextTokens = 256;

/// Larger than any model has, small enough that no tensor has more bytes than 64 bits count.
constexpr Index kLargestSize = Index{1} << 24, kMostPixels = Index{1} << 31;

/// Reads keys of one config.json; what is missing or of the wrong kind is named with its file.
class ConfigKeys {
 public:
  ConfigKeys(const Json& json, std::string model) : json_(json), model_(std::move(model)) {
    require_input(json.is_object(), "config.json of {}: not a JSON object", model_);
  }

  const std::string& model() const { return model_; }

  /// An absent key and a null are the same: Hugging Face writes both.
  bool has(const char* key) const { return json_.contains(key) && !json_.at(key).is_null(); }

  const Json& at(const char* key) const {
    require_input(has(key), "config.json of {}: \"{}\" is missing", model_, key);
    return json_.at(key);
  }

  Index size(const char* key) const { return as_size(key, at(key)); }

  Index size_or(const char* key, Index otherwise) const { return has(key) ? size(key) : otherwise; }

  Index as_size(const char* key, const Json& value) const {
    const bool fits =
        value.is_number_integer() && value.get<Index>() >= 1 && value.get<Index>() <= kLargestSize;
    require_input(fits,
                  "config.json of {}: \"{}\" is {} (a positive whole number up to {} is needed)",
                  model_, key, value.dump(), kLargestSize);
    return value.get<Index>();
  }

  float epsilon(const char* key) const {
    const Json& value = at(key);
    require_input(value.is_number() && value.get<double>() >= 0 && value.get<double>() < 1,
                  "config.json of {}: \"{}\" is {} (a number in [0, 1) is needed)", model_, key,
                  value.dump());
    return value.get<float>();
  }

  std::string text(const char* key) const {
    const Json& value = at(key);
    require_input(value.is_string(), "config.json of {}: \"{}\" is {} (a string is needed)", model_,
                  key, value.dump());
    return value.get<std::string>();
  }

  bool flag_or(const char* key, bool otherwise) const {
    if (!has(key)) return otherwise;
    const Json& value = at(key);
    require_input(value.is_boolean(), "config.json of {}: \"{}\" is {} (true or false is needed)",
                  model_, key, value.dump());
    return value.get<bool>();
  }

  /// Refuses every value but `supported`; an absent key has it.
  void require_flag(const char* key, bool supported) const {
    require_input(flag_or(key, supported) == supported,
                  "config.json of {}: \"{}\" is {} (only {} is supported)", model_, key, !supported,
                  supported);
  }

 private:
  const Json& json_;
  std::string model_;
};

Gelu read_gelu(const ConfigKeys& keys, const char* key) {
  const std::string name = keys.text(key);
  if (name == "gelu") return Gelu::erf;
  constexpr std::array<std::string_view, 3> kTanhForms = {"gelu_new", "gelu_fast",
                                                          "gelu_pytorch_tanh"};
  require_input(std::ranges::find(kTanhForms, name) != kTanhForms.end(),
                "config.json of {}: \"{}\" is \"{}\" (supported: gelu, {})", keys.model(), key,
                name, join(kTanhForms, ", "));
  return Gelu::tanh;
}

/// id2label maps "0", "1", ... to names.
std::vector<std::string> read_label_names(const ConfigKeys& keys) {
  if (!keys.has("id2label")) return {};
  const Json& labels = keys.at("id2label");
  require_input(labels.is_object(), "config.json of {}: \"id2label\" is not an object",
                keys.model());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto label = labels.find(std::to_string(i));
    require_input(label != labels.end() && label->is_string(),
                  "config.json of {}: \"id2label\" has {} labels, but no name for \"{}\"",
                  keys.model(), labels.size(), i);
    names.push_back(label->get<std::string>());
  }
  return names;
}

/// How Hugging Face reads the outputs; an absent key leaves it to their number. Several labels at
/// once are no classes.
void require_problem_type(const ConfigKeys& keys, Index labels) {
  if (!keys.has("problem_type")) return;
  const std::string type = keys.text("problem_type");
  require_input(type == "regression" || type == "single_label_classification",
                "config.json of {}: \"problem_type\" is \"{}\" (supported: regression, "
                "single_label_classification)",
                keys.model(), type);
  require_input(
      (type == "regression") == (labels == 1),
      "config.json of {}: \"problem_type\" is \"{}\" with {} labels (a regression has one, "
      "a classification more)",
      keys.model(), type, labels);
}

void read_labels(const ConfigKeys& keys, ModelConfig& config) {
  constexpr Index kLabelsWithoutKeys = 2;  // Hugging Face's default
  config.label_names = read_label_names(keys);
  config.labels = config.label_names.empty() ? keys.size_or("num_labels", kLabelsWithoutKeys)
                                             : std::ssize(config.label_names);
  require_problem_type(keys, config.labels);
}

/// The keys that ViT, ViViT and BERT share.
void read_encoder(const ConfigKeys& keys, ModelConfig& config) {
  config.hidden = keys.size("hidden_size");
  config.layers = keys.size("num_hidden_layers");
  config.heads = keys.size("num_attention_heads");
  config.ffn = keys.size("intermediate_size");
  config.layer_norm_epsilon = keys.epsilon("layer_norm_eps");
  config.gelu = read_gelu(keys, "hidden_act");
}

void read_pictures(const ConfigKeys& keys, ModelConfig& config) {
  read_encoder(keys, config);
  read_labels(keys, config);
  config.head = HeadKind::class_token;
  config.qkv_bias = keys.flag_or("qkv_bias", true);
  config.image_size = keys.size("image_size");
  config.channels = keys.size("num_channels");
}

/// Sets the token count from the picture and patch sizes.
void count_tokens(const ConfigKeys& keys, ModelConfig& config) {
  require_input(config.image_size % config.patch == 0,
                "config.json of {}: patches of {} do not tile pictures of {}", keys.model(),
                config.patch, config.image_size);
  require_input(config.frames % config.tubelet_frames == 0,
                "config.json of {}: tubelets of {} frames do not tile {} frames", keys.model(),
                config.tubelet_frames, config.frames);
  const double pixels = static_cast<double>(config.frames * config.channels) *
                        static_cast<double>(config.image_size * config.image_size);
  require_input(pixels <= static_cast<double>(kMostPixels),
                "config.json of {}: {} frames of {} channels of {}x{} are {} values (at most {})",
                keys.model(), config.frames, config.channels, config.image_size, config.image_size,
                pixels, kMostPixels);
  const Index side = config.image_size / config.patch;
  config.tokens = config.max_tokens = config.frames / config.tubelet_frames * side * side + 1;
}

void read_vit(const ConfigKeys& keys, ModelConfig& config) {
  config.family = Family::vit;
  read_pictures(keys, config);
  config.patch = keys.size("patch_size");
  count_tokens(keys, config);
}

void read_vivit(const ConfigKeys& keys, ModelConfig& config) {
  config.family = Family::vivit;
  read_pictures(keys, config);
  config.frames = keys.size("num_frames");
  const Json& tubelet = keys.at("tubelet_size");
  require_input(
      tubelet.is_array() && tubelet.size() == 3 && tubelet[1] == tubelet[2],
      "config.json of {}: \"tubelet_size\" is {} (frames and a square are needed, such as "
      "[2, 16, 16])",
      keys.model(), tubelet.dump());
  config.tubelet_frames = keys.as_size("tubelet_size", tubelet[0]);
  config.patch = keys.as_size("tubelet_size", tubelet[1]);
  count_tokens(keys, config);
}

void read_bert(const ConfigKeys& keys, ModelConfig& config, bool has_classifier) {
  config.family = Family::bert;
  read_encoder(keys, config);
  if (keys.has("position_embedding_type")) {
    const std::string type = keys.text("position_embedding_type");
    require_input(type == "absolute",
                  "config.json of {}: \"position_embedding_type\" is \"{}\" (only absolute is "
                  "supported)",
                  keys.model(), type);
  }
  keys.require_flag("is_decoder", false);
  config.max_tokens = keys.size("max_position_embeddings");
  config.tokens = std::min(config.max_tokens, kDefaultTextTokens);
  config.vocabulary = keys.size("vocab_size");
  config.token_types = keys.size("type_vocab_size");
  config.head = has_classifier ? HeadKind::pooler : HeadKind::mean_pooling;
  if (has_classifier) read_labels(keys, config);
}

void read_gpt2(const ConfigKeys& keys, ModelConfig& config) {
  config.family = Family::gpt2;
  keys.require_flag("scale_attn_by_inverse_layer_idx", false);
  keys.require_flag("scale_attn_weights", true);
  keys.require_flag("add_cross_attention", false);
  config.hidden = keys.size("n_embd");
  config.layers = keys.size("n_layer");
  config.heads = keys.size("n_head");
  config.ffn = keys.size_or("n_inner", 4 * config.hidden);
  config.layer_norm_epsilon = keys.epsilon("layer_norm_epsilon");
  config.gelu = read_gelu(keys, "activation_function");
  config.max_tokens = keys.size("n_positions");
  config.tokens = std::min(config.max_tokens, kDefaultTextTokens);
  config.vocabulary = keys.size("vocab_size");
  config.head = HeadKind::language_model;
}

}  // namespace

ModelConfig config_from_hugging_face(const Json& json, std::string name, bool has_classifier) {
  const ConfigKeys keys(json, name);
  ModelConfig config;
  config.name = std::move(name);
  const std::string type = keys.text("model_type");
  if (type == "vit")
    read_vit(keys, config);
  else if (type == "vivit")
    read_vivit(keys, config);
  else if (type == "bert")
    read_bert(keys, config, has_classifier);
  else if (type == "gpt2")
    read_gpt2(keys, config);
  else
    throw InputError(fmt::format(
        "config.json of {}: \"model_type\" is \"{}\" (supported: vit, bert, gpt2, vivit)",
        keys.model(), type));
  require_input(config.hidden % config.heads == 0,
                "config.json of {}: {} heads do not divide a hidden size of {}", keys.model(),
                config.heads, config.hidden);
  return config;
}

}  // namespace thinwire::model
