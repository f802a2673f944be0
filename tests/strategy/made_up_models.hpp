#pragma once
#include <string>
#include <vector>

#include "thinwire/base/random.hpp"
#include "thinwire/model/model.hpp"

namespace thinwire::test {

/// Weights large enough that every tensor, biases included, shows in the result.
class VividWeights final : public model::WeightSource {
 public:
  std::span<const float> values(const std::string& name, std::span<const Index> shape,
                                std::vector<float>& scratch) override {
    std::size_t elements = 1;
    for (const Index extent : shape) elements *= static_cast<std::size_t>(extent);
    scratch.resize(elements);
    constexpr float kDeviation = 0.2F;
    RandomStream(name, 42).fill_symmetric(scratch, kDeviation);
    return scratch;
  }
  std::string fingerprint() const override { return std::string(16, '0'); }
};

inline model::Model make_model(const model::ModelConfig& config) {
  VividWeights weights;
  return {config, weights, {std::pmr::new_delete_resource()}};
}

/// A language model whose heads and feed-forward columns three devices cannot share evenly.
inline model::ModelConfig four_heads() {
  return {.name = "four-heads",
          .family = model::Family::gpt2,
          .tokens = 13,
          .max_tokens = 16,
          .hidden = 20,
          .layers = 2,
          .heads = 4,
          .ffn = 41,
          .vocabulary = 31,
          .layer_norm_epsilon = 1e-5F,
          .gelu = model::Gelu::tanh,
          .head = model::HeadKind::language_model};
}

/// Six blocks for sentence embeddings.
inline model::ModelConfig six_blocks() {
  return {.name = "six-blocks",
          .family = model::Family::bert,
          .tokens = 11,
          .max_tokens = 16,
          .hidden = 12,
          .layers = 6,
          .heads = 3,
          .ffn = 24,
          .vocabulary = 31,
          .token_types = 2,
          .head = model::HeadKind::mean_pooling};
}

}  // namespace thinwire::test
