#pragma once
#include "thinwire/compress/segments.hpp"
#include "thinwire/strategy/row_exchange.hpp"

namespace thinwire::strategy {

/// L for a sequence of `tokens`: as given, or from the compression rate.
Index segments_for(const StrategyOptions& options, Index tokens, int devices);

/// PRISM: every device sends L Segment Means of its block outputs; a receiver projects K and V of
/// its own rows and the peers' means, each weighted by the tokens it stands for (Scaling::on), by
/// one (off), or repeated that often (duplicate).
/// Source: PRISM (arXiv 2507.12145), sections "Segment Means" and "Scaling-aware softmax".
class PrismExchange final : public RowExchange {
 public:
  /// Throws InputError when a device has fewer rows than segments.
  PrismExchange(const model::Model& model, const DeviceRole& role, const StrategyOptions& options,
                std::span<const Layout> layouts);

  fabric::Payload encode(Index exchange, MatrixView<const float> rows,
                         fabric::Fabric& fabric) override;

 private:
  /// published: L   received: P * L
  struct MeansRoom : Room {
    Index repeated = 0;  ///< N, for Scaling::duplicate
  };
  static MeansRoom room_for(const StrategyOptions& options, std::span<const Layout> layouts);
  PrismExchange(const model::Model& model, const DeviceRole& role, const StrategyOptions& options,
                const MeansRoom& room);

  /// One segment of one device, as its receivers see it.
  struct Segment {
    Slice tokens;       ///< global
    Index real_tokens;  ///< the repeat count g
  };

  void on_begin(const Layout& layout, const model::ModelInput& input) override;
  Index published_rows(int /*device*/) const override { return segments_; }
  Columns columns() override;
  void list_segments(const Layout& layout, const model::ModelInput& input);
  void describe_columns();
  void describe_column(Index column, const Segment& segment, float log_count);
  void repeat_means();

  StrategyOptions options_;
  Index segments_ = 0;                  ///< L of the pass
  std::vector<Segment> table_;          ///< [P * L], device after device
  Slice local_;                         ///< the columns that stand for this device
  std::span<const std::uint8_t> real_;  ///< of the local rows; empty: all real
  Matrix<float> means_;                 ///< [L, hidden], of this device
  Matrix<float> repeated_;              ///< [N, hidden] for Scaling::duplicate
  Matrix<float> log_counts_;            ///< [1, columns]
  Matrix<std::int32_t> last_;           ///< [1, columns]
};

}  // namespace thinwire::strategy
