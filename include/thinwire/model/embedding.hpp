#pragma once
#include <memory_resource>
#include <optional>

#include "thinwire/base/partition.hpp"
#include "thinwire/model/model_input.hpp"
#include "thinwire/model/weight_source.hpp"
#include "thinwire/ops/layer_norm.hpp"
#include "thinwire/ops/linear.hpp"

namespace thinwire::model {

class WeightReader;

/// Where a model's weights are put, by whom (see ops::Packing), and what its products are of.
struct WeightPlace {
  std::pmr::memory_resource* memory;
  ops::Packing packing = ops::Packing::write;
  DType dtype = DType::fp32;  ///< of every product; tables, norms and biases are fp32
};

/// From pixels or token ids to the first hidden state, any rows of it.
///   ViT, ViViT: class token or W_patch * tubelet, + position   (tubelets by time, row, column)
///   GPT-2: token + position      BERT: LayerNorm(token + position + segment)
class Embedding {
 public:
  Embedding(const ModelConfig& config, WeightSource& source, WeightPlace place);

  /// Writes rows `rows` of the embedded sequence to x [rows.size, hidden].
  ///   patches  scratch [>= rows.size, patch_inputs] for pictures and video, unused for text
  void operator()(const ModelInput& input, Slice rows, MatrixView<float> x,
                  MatrixView<float> patches, Operations& counted) const;

  /// The token table [vocabulary, hidden] (GPT-2's LM head is tied to it).
  MatrixView<const float> token_table() const { return tokens_.view(); }

 private:
  Embedding(const ModelConfig& config, WeightReader reader);
  void embed_patches(const ModelInput& input, Slice rows, MatrixView<float> x,
                     MatrixView<float> patches, Operations& counted) const;
  void embed_tokens(const ModelInput& input, Slice rows, MatrixView<float> x,
                    Operations& counted) const;

  ModelConfig config_;
  Matrix<float> tokens_, positions_, types_, class_token_;
  std::optional<ops::Linear> patch_projection_;
  std::optional<ops::LayerNorm> norm_;
};

}  // namespace thinwire::model
