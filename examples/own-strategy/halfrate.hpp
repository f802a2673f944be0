#pragma once
#include <memory>
#include <vector>

#include "thinwire/cost/workload.hpp"
#include "thinwire/strategy/row_exchange.hpp"
#include "thinwire/strategy/strategy.hpp"

/// halfrate: voltage that sends every second row. A row that is sent stands for itself and for the
/// one behind it, which its receivers never see: half the traffic, and an approximation as crude as
/// neighbouring tokens are different.
namespace halfrate {

/// Of `rows` rows, those that are sent: the first, the third, ...
constexpr thinwire::Index sent_rows(thinwire::Index rows) {
  return (rows + 1) / 2;
}

/// What travels, and what a receiver makes of it.
class HalfrateExchange final : public thinwire::strategy::RowExchange {
 public:
  HalfrateExchange(const thinwire::model::Model& model, const thinwire::strategy::DeviceRole& role,
                   std::span<const thinwire::strategy::Layout> layouts);

  thinwire::fabric::Payload encode(thinwire::Index exchange, thinwire::MatrixView<const float> rows,
                                   thinwire::fabric::Fabric& fabric) override;

 private:
  void on_begin(const thinwire::strategy::Layout& layout,
                const thinwire::model::ModelInput& input) override;
  thinwire::Index published_rows(int device) const override;
  Columns columns() override;

  thinwire::Matrix<float> sent_;  ///< [sent rows, hidden] of this device
  // Of all devices' rows, in device order:
  thinwire::Matrix<float> log_counts_;   ///< [1, rows]: how many tokens a row stands for
  thinwire::Matrix<std::int32_t> last_;  ///< [1, rows]: the row's own token
  thinwire::Slice local_;                ///< those of this device
  thinwire::Index rows_ = 0;
};

/// One line in the table of strategies.
std::unique_ptr<thinwire::strategy::Strategy> make(
    const thinwire::model::Model& model, const thinwire::strategy::StrategyOptions& options,
    const thinwire::strategy::DeviceRole& role);

/// The same by formula, independent of the code above: what a run must count is what this says.
thinwire::cost::Prediction predict(const thinwire::cost::Workload& workload);

}  // namespace halfrate
