#pragma once
#include "thinwire/strategy/index_exchange.hpp"

namespace thinwire::strategy {

/// ASTRA: every device sends its block outputs as G indices a row, 16 bits each or packed; a
/// receiver dequantises them and projects K and V of all N rows. With ClassToken::replicated the
/// class token is a row of every device and never sent.
class AstraExchange final : public IndexExchange {
 public:
  /// options.codebooks must be there.
  AstraExchange(const model::Model& model, const DeviceRole& role, const StrategyOptions& options,
                std::span<const Layout> layouts);

 private:
  void decode_remote(Index layer, ops::KvContext& context, Operations& counted) override;

  Matrix<float> rows_;  ///< [remote tokens, hidden]: codewords, then what K and V are made from
};

}  // namespace thinwire::strategy
