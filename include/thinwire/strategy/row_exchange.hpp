#pragma once
#include "thinwire/compress/row_format.hpp"
#include "thinwire/strategy/exchange.hpp"
#include "thinwire/strategy/lost_rows.hpp"

namespace thinwire::strategy {

/// The methods that publish block outputs as rows from which a receiver projects K and V itself:
/// voltage (the rows), prism (their means). In another format than fp32 the peers' rows are read
/// back before K and V are projected from them; a device's own are never coded for itself. Of a row
/// that a lossy link has cut a packet out of nothing is used: attention does not see it
/// (OnLoss::skip, and where there is no earlier one), or the row that stood there in the exchange
/// before is taken for it (OnLoss::reuse).
class RowExchange : public Exchange {
 public:
  /// The most rows that any layout needs room for.
  struct Room {
    Index published = 0;  ///< by this device
    Index received = 0;   ///< of all devices together
    Index remote = 0;     ///< that K and V are projected from, beside the local ones
  };
  RowExchange(const model::Model& model, const DeviceRole& role, compress::RowFormat payload,
              const Room& room);

  void begin(const Layout& layout, const model::ModelInput& input, Observer* observer) final;
  std::int64_t payload_bytes(Index exchange, int device) const final;
  std::span<std::byte> receive_buffer(Index exchange) final;
  void decode(Index layer, const fabric::Delivery& arrived, ops::KvContext& context,
              Operations& counted) final;
  RowLosses losses() const final;

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

  const Layout& layout() const { return *layout_; }
  MatrixView<const float> received(Index rows) const { return received_.first(rows); }
  bool is_coded() const { return payload_ != compress::RowFormat::fp32; }
  /// `rows` as they are sent: themselves, or coded into room that lasts until the next call. The
  /// work of it is a compute call's.
  std::span<const std::byte> payload_of(MatrixView<const float> rows);

 private:
  void restore(const fabric::Delivery& arrived);
  void append(Index layer, const Columns& columns, Slice rows, ops::KvContext& context,
              Operations& counted);

  void conceal(const fabric::Delivery& arrived);
  void replace(Index row, fabric::OnLoss policy);

  const model::Model& model_;
  const Layout* layout_ = nullptr;  ///< of the pass
  compress::RowFormat payload_;
  std::pmr::memory_resource* memory_;
  LostRows lost_;                      ///< one a row of received_
  Matrix<float> previous_;             ///< as received_, of the exchange before; for OnLoss::reuse
  Matrix<std::uint8_t> has_previous_;  ///< [1, received]
  Matrix<float> received_;             ///< [received, hidden], all devices' rows
  Matrix<std::byte> sent_coded_;       ///< [published, row_bytes]; none of both for fp32
  Matrix<std::byte> coded_;            ///< [received, row_bytes], all devices' payloads
  Matrix<float> normed_;               ///< [remote, hidden], empty for post-norm models
};

}  // namespace thinwire::strategy
