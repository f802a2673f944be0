#pragma once
#include "thinwire/strategy/index_exchange.hpp"

namespace thinwire::strategy {

/// trace-nb, and trace-1b, whose exchange 0 is coded: every device sends what its attention adds to
/// its rows, A W_O, as an index each. A receiver keeps every peer's running state X̂, at first the
/// embeddings as sent, and takes it through the block whose attention the codeword c stands for:
///   Ẑ = X̂ + c (pre-norm), LN1(X̂ + c) (post-norm);  X̂ <- finish(l - 1, Ẑ);  K, V = project(l, X̂)
/// On a link that drops packets a lost c counts as nothing: the state goes through the block with
/// what it has, and attention sees it (OnLoss::reuse) or not (skip). A peer's row that was lost in
/// exchange 0 has no state, and is not seen in the whole pass.
/// Source: TRACE, section IV (METHODS 3, 3.3).
class TraceNbExchange final : public IndexExchange {
 public:
  /// options.codebooks must be there. Throws InputError for a level that they lack.
  TraceNbExchange(const model::Model& model, const DeviceRole& role, const StrategyOptions& options,
                  std::span<const Layout> layouts);

 private:
  void decode_remote(Index layer, ops::KvContext& context, Operations& counted) override;
  void stand_in(Index layer, fabric::OnLoss policy) override;
  void advance(Index layer, MatrixView<float> state, Operations& counted);

  Matrix<float> state_;          ///< X̂ [remote tokens, hidden]
  Matrix<float> scratch_;        ///< [remote tokens, hidden]: codewords, then normalised rows
  Matrix<float> ffn_;            ///< [remote tokens, ffn]
  std::vector<bool> has_state_;  ///< [remote tokens] on a link that drops packets, else empty
};

}  // namespace thinwire::strategy
