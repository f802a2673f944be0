#pragma once
#include <string>
#include <vector>

#include "thinwire/model/block.hpp"
#include "thinwire/model/embedding.hpp"
#include "thinwire/model/head.hpp"

namespace thinwire::model {

/// A whole model, read-only after construction; shared by all devices of a process.
class Model {
 public:
  /// Takes every tensor from `source` and packs it at `place`. Tensors are asked for in one fixed
  /// order, so that ranks which attach allocate the same places as the rank that writes.
  /// Ranks that attach read no values from `source`, and leave it to the writer to throw.
  /// Throws InputError that names a tensor that is missing, misshapen or left over.
  Model(ModelConfig config, WeightSource& source, WeightPlace place);

  const ModelConfig& config() const { return config_; }
  const Embedding& embedding() const { return embedding_; }
  const Block& block(Index layer) const { return blocks_[static_cast<std::size_t>(layer)]; }
  const Head& head() const { return head_; }
  /// The source's fingerprint. Ranks that attach read it from the node's memory, as the weights:
  /// right once the writing rank has constructed its model.
  std::string fingerprint() const;

 private:
  ModelConfig config_;
  Embedding embedding_;
  std::vector<Block> blocks_;
  Head head_;
  Matrix<char> fingerprint_;  // [1, 16] hexadecimal digits
};

}  // namespace thinwire::model
