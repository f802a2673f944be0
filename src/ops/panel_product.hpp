#pragma once
#include <span>

#include "product_tile.hpp"
#include "thinwire/ops/linear.hpp"
#include "thinwire/tensor/matrix_view.hpp"

namespace thinwire::ops {

/// Floats that weights [outputs, inputs] take as panels [inputs, kTileColumns], one behind the
/// other, each of kTileColumns outputs; those that the last panel has too many are zero.
Index panel_floats(Index outputs, Index inputs);
/// One panel of weights [1 ... kTileColumns, inputs].
void pack_panel(MatrixView<const float> weight, float* panel);
/// All of them, spread over omp_get_max_threads() threads.   weight [outputs, inputs]
void pack_panels(MatrixView<const float> weight, float* panels);
void unpack_panels(const float* panels, MatrixView<float> weight);

/// y = epilogue(x * transpose(weight) + bias) with packed weights.
struct PanelProduct {
  const float* panels;
  std::span<const float> bias;  ///< [outputs], or empty
  Index inputs, outputs;
  Epilogue epilogue;

  /// x [rows, inputs]   y [rows, outputs]   both dense. The bits of a row of y depend neither on
  /// the other rows nor on the number of threads (omp_get_max_threads()).
  void operator()(const float* x, float* y, Index rows) const;
};

}  // namespace thinwire::ops
