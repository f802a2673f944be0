#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "thinwire/model/model_config.hpp"

namespace thinwire::model {

/// One sequence for a model: pixels or token ids, owned.
struct ModelInput {
  std::vector<float> pixels;        ///< pictures [channels, H, W], video [frames, channels, H, W]
  std::vector<std::int32_t> ids;    ///< text [N]
  std::vector<std::int32_t> types;  ///< text [N] or empty: segment 0 everywhere
  std::vector<std::uint8_t> real;   ///< text [N] or empty: 0 marks padding, hidden from attention

  /// N: of the ids for text, of the config otherwise.
  Index tokens(const ModelConfig& config) const;
  bool is_real(Index token) const {
    return real.empty() || real[static_cast<std::size_t>(token)] != 0;
  }
};

/// Throws InputError unless the input fits the model: sizes, ids inside the vocabulary, at most
/// max_tokens tokens, at least one real token.
void check_input(const ModelInput& input, const ModelConfig& config);

/// A seeded random sample: pixels in [-1, 1), or uniform token ids.
ModelInput random_input(const ModelConfig& config, Index tokens, std::uint64_t seed);

}  // namespace thinwire::model
