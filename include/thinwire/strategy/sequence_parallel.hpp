#pragma once
#include <memory>
#include <vector>

#include "thinwire/ops/attention.hpp"
#include "thinwire/strategy/exchange.hpp"
#include "thinwire/strategy/strategy.hpp"

namespace thinwire::strategy {

/// The forward pass that single, voltage and prism share: tokens are split, every device runs all
/// blocks on its rows, an Exchange brings what it needs of the others. `exchange` is null for one
/// device.
class SequenceParallel final : public Strategy {
 public:
  SequenceParallel(const model::Model& model, const DeviceRole& role, std::vector<Layout> layouts,
                   std::unique_ptr<Exchange> exchange, Index max_columns);

  Output forward(const model::ModelInput& input, fabric::Fabric& fabric,
                 Observer* observer) override;

 private:
  const Layout& layout_for(Index tokens) const;
  void begin(const Layout& layout, const model::ModelInput& input, Observer* observer);
  void run_block(Index layer, MatrixView<float> x, fabric::Fabric& fabric);
  void project_local(Index layer, MatrixView<const float> x, Operations& counted);
  Output run_head(const Layout& layout, const model::ModelInput& input, MatrixView<float> x,
                  fabric::Fabric& fabric);
  Output pool_mean(const Layout& layout, const model::ModelInput& input, MatrixView<float> x,
                   fabric::Fabric& fabric);

  const model::Model& model_;
  std::vector<Layout> layouts_;
  std::unique_ptr<Exchange> exchange_;
  Index rows_;  ///< most local rows of any layout

  // The workspace of a pass; `cost` predicts its size term by term.
  Matrix<float> x_, normed_, query_, attended_, ffn_, patches_;
  ops::KvContext context_;
  ops::Attention attention_;
  Matrix<std::int32_t> positions_;  ///< [1, rows], global
  Matrix<float> log_counts_;        ///< [1, rows]: 0, or -infinity for padding
  Matrix<float> pooled_, logits_, partial_sums_;
};

/// Every sequence length's layout for this device. Throws InputError when P > N.
std::vector<Layout> make_layouts(const DeviceRole& role, const StrategyOptions& options);

}  // namespace thinwire::strategy
