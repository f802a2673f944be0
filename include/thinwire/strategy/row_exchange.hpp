#pragma once
#include <optional>

#include "thinwire/strategy/exchange.hpp"

namespace thinwire::strategy {

/// The methods that publish block outputs as rows from which a receiver projects K and V itself:
/// voltage (the rows), prism (their means). They wait right after publishing, as in the papers.
class RowExchange : public Exchange {
 public:
  /// Room for `received_rows` rows of all devices together.
  RowExchange(const model::Model& model, const DeviceRole& role, Index received_rows,
              Index max_remote_rows);

  void begin(const Layout& layout, const model::ModelInput& input, Observer* observer) final;
  void publish_input(MatrixView<const float> x, fabric::Fabric& fabric) final;
  void wait(Index /*layer*/, fabric::Fabric& /*fabric*/) final {}  // waited when publishing
  void decode(Index layer, ops::KvContext& context, Operations& counted) final;
  void after_block(Index layer, MatrixView<const float> x, fabric::Fabric& fabric) final;

 protected:
  /// Rows of all devices, in device order, from which K and V are projected; the local device's
  /// among them are skipped. Row r of `rows` has log_counts[r] and last[r].
  struct Columns {
    MatrixView<const float> rows;
    std::span<const float> log_counts;
    std::span<const std::int32_t> last;
    Slice local;  ///< the rows that stand for this device
  };

  /// Sets what does not change during the pass.
  virtual void on_begin(const Layout& layout, const model::ModelInput& input) = 0;
  /// What to send for the local rows x; the bytes stay valid until the next call.
  virtual fabric::Payload encode(Index exchange, MatrixView<const float> x,
                                 fabric::Fabric& fabric) = 0;
  virtual Columns columns() = 0;

  MatrixView<const float> received(Index rows) const { return received_.first(rows); }

 private:
  void publish(Index exchange, MatrixView<const float> x, fabric::Fabric& fabric);
  void append(Index layer, const Columns& columns, Slice rows, ops::KvContext& context,
              Operations& counted);

  const model::Model& model_;
  Observer* observer_ = nullptr;
  Matrix<float> received_;  ///< [received_rows, hidden], all devices' payloads
  Matrix<float> normed_;    ///< [remote rows, hidden], empty for post-norm models
};

}  // namespace thinwire::strategy
