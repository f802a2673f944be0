#pragma once
#include <fstream>
#include <string>

#include "support/raw_safetensors.hpp"
#include "support/temporary_folder.hpp"
#include "thinwire/base/json.hpp"

namespace thinwire::test {

constexpr Index kGlueHidden = 8, kGlueFfn = 16, kGlueVocabulary = 20, kGluePositions = 12,
                kGlueLayers = 2;

/// Names and shapes of Hugging Face's BertForSequenceClassification, in order of the names.
inline std::map<std::string, std::vector<Index>> glue_shapes(Index labels) {
  constexpr Index kHidden = kGlueHidden;
  std::map<std::string, std::vector<Index>> shapes;
  const auto add_linear = [&](const std::string& name, Index outputs, Index inputs) {
    shapes[name + ".weight"] = {outputs, inputs};
    shapes[name + ".bias"] = {outputs};
  };
  const auto add_norm = [&](const std::string& name) {
    shapes[name + ".weight"] = shapes[name + ".bias"] = {kHidden};
  };
  const std::string embeddings = "bert.embeddings.";
  shapes[embeddings + "word_embeddings.weight"] = {kGlueVocabulary, kHidden};
  shapes[embeddings + "position_embeddings.weight"] = {kGluePositions, kHidden};
  shapes[embeddings + "token_type_embeddings.weight"] = {2, kHidden};
  add_norm(embeddings + "LayerNorm");
  for (Index l = 0; l < kGlueLayers; ++l) {
    const std::string layer = "bert.encoder.layer." + std::to_string(l);
    for (const char* part : {"query", "key", "value"})
      add_linear(layer + ".attention.self." + part, kHidden, kHidden);
    add_linear(layer + ".attention.output.dense", kHidden, kHidden);
    add_norm(layer + ".attention.output.LayerNorm");
    add_linear(layer + ".intermediate.dense", kGlueFfn, kHidden);
    add_linear(layer + ".output.dense", kHidden, kGlueFfn);
    add_norm(layer + ".output.LayerNorm");
  }
  add_linear("bert.pooler.dense", kHidden, kHidden);
  add_linear("classifier", labels, kHidden);
  return shapes;
}

/// config.json as Hugging Face writes it: two labels are its default, and left out.
inline Json glue_config(Index labels) {
  Json config = {{"architectures", {"BertForSequenceClassification"}},
                 {"model_type", "bert"},
                 {"hidden_act", "gelu"},
                 {"layer_norm_eps", 1e-12},
                 {"hidden_size", kGlueHidden},
                 {"intermediate_size", kGlueFfn},
                 {"max_position_embeddings", kGluePositions},
                 {"num_attention_heads", 2},
                 {"num_hidden_layers", kGlueLayers},
                 {"type_vocab_size", 2},
                 {"vocab_size", kGlueVocabulary}};
  for (Index l = 0; labels != 2 && l < labels; ++l)
    config["id2label"][std::to_string(l)] = "LABEL_" + std::to_string(l);
  if (labels == 1) config["problem_type"] = "regression";
  return config;
}

/// A checkpoint as a GLUE task leaves it, with weights by formula: element k of the t-th tensor by
/// name is (7919 k + 104729 t) mod 1009 / 1009 - 1/2; half of that and 1 for LayerNorm's weights.
inline void write_glue_checkpoint(const TemporaryFolder& folder, Index labels) {
  RawTensors tensors;
  Index t = 0;
  for (const auto& [name, shape] : glue_shapes(labels)) {
    Index elements = 1;
    for (const Index size : shape) elements *= size;
    const bool is_scale = name.ends_with("LayerNorm.weight");
    std::vector<float> values;
    for (Index k = 0; k < elements; ++k) {
      const double value = static_cast<double>((7919 * k + 104729 * t) % 1009) / 1009 - 0.5;
      values.push_back(static_cast<float>(is_scale ? value * 0.5 + 1 : value));
    }
    tensors[name] = raw_tensor("F32", shape, values);
    ++t;
  }
  write_raw(folder / "model.safetensors", tensors);
  std::ofstream(folder / "config.json") << glue_config(labels).dump();
}

}  // namespace thinwire::test
