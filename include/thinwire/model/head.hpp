#pragma once
#include <optional>

#include "thinwire/model/embedding.hpp"

namespace thinwire::model {

/// From the last hidden state to logits or an embedding. Which functions apply depends on
/// config.head; calling another one throws Error.
class Head {
 public:
  Head(const ModelConfig& config, const Embedding& embedding, WeightSource& source,
       WeightPlace place);

  /// Final LayerNorm in place; does nothing for models without one (BERT).   x [n, hidden]
  void normalise(MatrixView<float> x, Operations& counted) const;
  /// class_token, pooler: logits [1, labels] from row 0 of the sequence [1, hidden].
  ///   scratch [1, hidden] for the pooler's output
  void classify(MatrixView<const float> first_row, MatrixView<float> scratch,
                MatrixView<float> logits, Operations& counted) const;
  /// language_model: logits [n, vocabulary] of normalised rows x [n, hidden].
  void language_model(MatrixView<const float> x, MatrixView<float> logits,
                      Operations& counted) const;

 private:
  HeadKind kind_;
  std::optional<ops::LayerNorm> norm_;
  std::optional<ops::Linear> pooler_, classifier_, language_model_;
};

/// mean_pooling, first half: the sum of the real rows among x, which starts at global row `begin`.
///   x [n, hidden]   sum [1, hidden], overwritten
void sum_real_rows(MatrixView<const float> x, Index begin, const ModelInput& input,
                   MatrixView<float> sum);

}  // namespace thinwire::model
