#pragma once
#include <span>
#include <vector>

#include "thinwire/fabric/fabric.hpp"
#include "thinwire/model/model.hpp"
#include "thinwire/ops/kv_context.hpp"
#include "thinwire/strategy/layout.hpp"
#include "thinwire/strategy/strategy.hpp"

namespace thinwire::strategy {

/// What makes a method of the sequence-parallel family (METHODS 3): which rows it publishes and
/// when, how they are encoded, and how a receiver turns them into key columns. Exchange e precedes
/// the attention of block e: exchange 0 concerns the embeddings, exchange l the state after block
/// l - 1. Functions that compute are handed Operations; only those that publish or wait see the
/// fabric, so that nothing can wait inside a compute turn.
class Exchange {
 public:
  virtual ~Exchange() = default;

  /// A pass of `input` in this layout begins.
  virtual void begin(const Layout& layout, const model::ModelInput& input, Observer* observer) = 0;
  /// x [n_p, hidden]: the embedded local rows.
  virtual void publish_input(MatrixView<const float> x, fabric::Fabric& fabric) = 0;
  /// Blocks until exchange `layer` has arrived.
  virtual void wait(Index layer, fabric::Fabric& fabric) = 0;
  /// Appends the peers' key columns for block `layer` behind the local ones.
  virtual void decode(Index layer, ops::KvContext& context, Operations& counted) = 0;
  /// z [n_p, hidden] of block `layer`, after attention and its residual.
  virtual void after_attention(Index /*layer*/, MatrixView<const float> /*z*/,
                               fabric::Fabric& /*fabric*/) {}
  /// x [n_p, hidden]: the output of block `layer`; not called after the last block.
  virtual void after_block(Index /*layer*/, MatrixView<const float> /*x*/,
                           fabric::Fabric& /*fabric*/) {}
};

}  // namespace thinwire::strategy
