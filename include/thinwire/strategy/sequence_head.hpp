#pragma once
#include <span>

#include "thinwire/strategy/layout.hpp"
#include "thinwire/strategy/strategy.hpp"

namespace thinwire::strategy {

/// What follows the last block when the rows of a sequence lie on several devices (METHODS 6):
/// every device normalises its own, the head runs where its row is. Rows that every device has a
/// copy of are averaged first, partial sums of a mean cross the wire once.
class SequenceHead {
 public:
  SequenceHead(const model::Model& model, const DeviceRole& role, std::span<const Layout> layouts);

  /// x [local_rows, hidden]: the last block's output, overwritten.   Collective.
  Output operator()(const Layout& layout, const model::ModelInput& input, MatrixView<float> x,
                    fabric::Fabric& fabric);

 private:
  void average_copies(const Layout& layout, MatrixView<float> x, fabric::Fabric& fabric);
  Output pool_mean(const Layout& layout, const model::ModelInput& input, MatrixView<float> x,
                   fabric::Fabric& fabric);
  MatrixView<const float> gather(const Layout& layout, MatrixView<const float> row,
                                 fabric::Fabric& fabric);
  int number() const { return static_cast<int>(model_.config().layers); }

  const model::Model& model_;
  Matrix<float> pooled_, logits_;
  Matrix<float> gathered_;  ///< [P, hidden] on device 0, a row of each other device
};

}  // namespace thinwire::strategy
