#pragma once
#include "thinwire/strategy/index_exchange.hpp"

namespace thinwire::strategy {

/// trace-b, and trace-2a, whose exchange 0 is raw: every device sends its rows after attention, Z,
/// as an index each. What a receiver does with a peer's index depends on what is precomputed for
/// every codeword c of exchange l (METHODS 3.3):
///   Buffers::kv      K|V of c: a look-up, no product
///   Buffers::hidden  finish(l - 1, c): it projects K and V
///   Buffers::off     nothing: it runs finish(l - 1) on the codewords, then projects
/// Source: TRACE, section IV.
class TraceExchange final : public IndexExchange {
 public:
  /// options.codebooks must be there. Throws InputError for a level that they lack.
  TraceExchange(const model::Model& model, const DeviceRole& role, const StrategyOptions& options,
                std::span<const Layout> layouts);

 private:
  void decode_remote(Index layer, ops::KvContext& context, Operations& counted) override;
  void restore_rows(Index layer, MatrixView<float> rows, Operations& counted);

  Matrix<float> rows_;    ///< [remote tokens, hidden]; none if all comes from kv buffers
  Matrix<float> normed_;  ///< [remote tokens, hidden], Buffers::off of a pre-norm model
  Matrix<float> ffn_;     ///< [remote tokens, ffn], Buffers::off
};

}  // namespace thinwire::strategy
