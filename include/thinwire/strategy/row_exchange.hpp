#pragma once
#include "thinwire/strategy/exchange.hpp"

namespace thinwire::strategy {

/// The methods that publish block outputs as rows from which a receiver projects K and V itself:
/// voltage (the rows), prism (their means).
class RowExchange : public Exchange {
 public:
  /// Room for `received_rows` rows of all devices together.
  RowExchange(const model::Model& model, const DeviceRole& role, Index received_rows,
              Index max_remote_rows);

  void begin(const Layout& layout, const model::ModelInput& input, Observer* observer) final;
  std::int64_t payload_bytes(Index exchange, int device) const final;
  std::span<std::byte> receive_buffer(Index exchange) final;
  void decode(Index layer, const fabric::Delivery& arrived, ops::KvContext& context,
              Operations& counted) final;

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
  /// Rows that `device` publishes in every exchange.
  virtual Index published_rows(int device) const = 0;
  virtual Columns columns() = 0;

  MatrixView<const float> received(Index rows) const { return received_.first(rows); }

 private:
  void append(Index layer, const Columns& columns, Slice rows, ops::KvContext& context,
              Operations& counted);

  const model::Model& model_;
  Matrix<float> received_;  ///< [received_rows, hidden], all devices' payloads
  Matrix<float> normed_;    ///< [remote rows, hidden], empty for post-norm models
};

}  // namespace thinwire::strategy
