#pragma once
#include <cstddef>
#include <span>

#include "thinwire/compress/index_coding.hpp"
#include "thinwire/fabric/fabric.hpp"
#include "thinwire/model/model.hpp"
#include "thinwire/ops/kv_context.hpp"
#include "thinwire/strategy/layout.hpp"
#include "thinwire/strategy/strategy.hpp"

namespace thinwire::strategy {

/// Rows that peers have published in an exchange, and those that were lost.
struct RowLosses {
  Index rows = 0, lost = 0;
};

/// What makes a method of the sequence-parallel family (METHODS 3): which rows it publishes, how
/// they are encoded, and how a receiver turns them into key columns. Exchange e precedes the
/// attention of block e: exchange 0 concerns the embeddings, exchange l the state of block l - 1.
/// It is a codec: when payloads are published and waited for is SequenceParallel's business.
class Exchange {
 public:
  virtual ~Exchange() = default;

  /// What is published behind every block but the last.
  virtual compress::Published published() const { return compress::Published::block_output; }

  /// A pass of `input` in this layout begins.
  virtual void begin(const Layout& layout, const model::ModelInput& input, Observer* observer) = 0;
  /// The payload of the device's own rows [n_p, hidden]; valid until the next call. Computes by
  /// fabric.compute; must not wait.
  virtual fabric::Payload encode(Index exchange, MatrixView<const float> rows,
                                 fabric::Fabric& fabric) = 0;
  /// Bytes of `device`'s payload, from the configuration alone; the most it can have where sizes
  /// depend on the data.
  virtual std::int64_t payload_bytes(Index exchange, int device) const = 0;
  /// Payloads have exactly payload_bytes(); otherwise their sizes travel with them. What a terminal
  /// makes (exchange 0) always has.
  virtual bool has_fixed_sizes(Index /*exchange*/) const { return true; }
  /// Where the payloads of all devices go, packed in device order, the own included.
  virtual std::span<std::byte> receive_buffer(Index exchange) = 0;
  /// Appends the peers' key columns for block `layer` behind the local ones, from what arrived in
  /// receive_buffer(layer).
  virtual void decode(Index layer, const fabric::Delivery& arrived, ops::KvContext& context,
                      Operations& counted) = 0;
  /// Of the peers' rows that decode() was last to get, on a link that drops packets.
  virtual RowLosses losses() const { return {}; }
};

}  // namespace thinwire::strategy
