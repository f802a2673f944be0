#pragma once
#include <span>
#include <string>
#include <string_view>

#include "thinwire/base/error.hpp"
#include "thinwire/cost/workload.hpp"

namespace thinwire::cost::test {

/// A preset at its default length.
inline Workload make_workload(std::string_view preset, std::string_view strategy, int devices,
                              Index segments = 0) {
  Workload workload;
  workload.model = model::preset(preset);
  workload.tokens = workload.model.tokens;
  workload.strategy = strategy;
  workload.devices = devices;
  workload.segments = segments;
  return workload;
}

/// Pre-norm, pictures of 4 patches of 12 inputs, class token: small enough to count by hand.
inline model::ModelConfig tiny_vit() {
  model::ModelConfig model;
  model.name = "tiny-vit";
  model.family = model::Family::vit;
  model.head = model::HeadKind::class_token;
  model.tokens = model.max_tokens = 5;
  model.hidden = 4;
  model.layers = 2;
  model.heads = 2;
  model.ffn = 8;
  model.labels = 3;
  model.image_size = 4;
  model.channels = 3;
  model.patch = 2;
  return model;
}

/// Post-norm text model of one block with a pooler.
inline model::ModelConfig tiny_bert() {
  model::ModelConfig model;
  model.name = "tiny-bert";
  model.family = model::Family::bert;
  model.head = model::HeadKind::pooler;
  model.tokens = 7;
  model.max_tokens = 10;
  model.hidden = 4;
  model.layers = 1;
  model.heads = 2;
  model.ffn = 8;
  model.vocabulary = 20;
  model.token_types = 2;
  model.labels = 2;
  return model;
}

inline Workload make_tiny(const model::ModelConfig& model, std::string_view strategy, int devices,
                          Index segments = 0) {
  Workload workload;
  workload.model = model;
  workload.tokens = model.tokens;
  workload.strategy = strategy;
  workload.devices = devices;
  workload.segments = segments;
  return workload;
}

inline Operations sum(std::span<const Operations> parts) {
  Operations total;
  for (const Operations& part : parts) total += part;
  return total;
}

/// Why it cannot be predicted; "no error" when it can.
inline std::string input_error_of(const Workload& workload) {
  try {
    predict(workload);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace thinwire::cost::test
