#pragma once
#include "thinwire/strategy/row_exchange.hpp"

namespace thinwire::strategy {

/// Voltage: every device sends its block outputs in full, n_p * D fp32, and projects K and V of all
/// N rows. Exact.
class VoltageExchange final : public RowExchange {
 public:
  VoltageExchange(const model::Model& model, const DeviceRole& role,
                  std::span<const Layout> layouts);

 private:
  void on_begin(const Layout& layout, const model::ModelInput& input) override;
  fabric::Payload encode(Index exchange, MatrixView<const float> x,
                         fabric::Fabric& fabric) override;
  Columns columns() override;

  const Layout* layout_ = nullptr;
  Matrix<float> log_counts_;   ///< [1, N]
  Matrix<std::int32_t> last_;  ///< [1, N]
};

}  // namespace thinwire::strategy
