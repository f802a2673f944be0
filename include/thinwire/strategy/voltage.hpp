#pragma once
#include "thinwire/strategy/row_exchange.hpp"
#include "thinwire/strategy/token_columns.hpp"

namespace thinwire::strategy {

/// Voltage: every device sends its block outputs in full, n_p rows, and projects K and V of all N
/// rows. Exact while the payload is fp32, which is sent without a copy.
class VoltageExchange final : public RowExchange {
 public:
  VoltageExchange(const model::Model& model, const DeviceRole& role, const StrategyOptions& options,
                  std::span<const Layout> layouts);

  fabric::Payload encode(Index exchange, MatrixView<const float> rows,
                         fabric::Fabric& fabric) override;

 private:
  void on_begin(const Layout& layout, const model::ModelInput& input) override;
  Index published_rows(int device) const override;
  Columns columns() override;

  TokenColumns tokens_;  ///< all N
};

}  // namespace thinwire::strategy
