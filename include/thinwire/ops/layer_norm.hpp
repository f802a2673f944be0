#pragma once
#include <memory_resource>
#include <span>

#include "thinwire/base/operations.hpp"
#include "thinwire/ops/linear.hpp"
#include "thinwire/tensor/matrix.hpp"

namespace thinwire::ops {

/// y = (x - mean) / sqrt(variance + epsilon) * weight + bias, row by row; variance is the mean
/// squared deviation.   weight, bias [cols]
class LayerNorm {
 public:
  /// Packing as in Linear: `attach` takes the shapes only.
  LayerNorm(std::span<const float> weight, std::span<const float> bias, float epsilon,
            std::pmr::memory_resource* memory, Packing packing = Packing::write);

  /// x and y [rows, cols]; y may be x. Rows are spread over omp_get_max_threads() threads.
  /// Adds rows * cols layer_norm elements to `counted`.
  void operator()(MatrixView<const float> x, MatrixView<float> y, Operations& counted) const;

 private:
  Matrix<float> weight_, bias_;  // [1, cols]
  float epsilon_;
};

}  // namespace thinwire::ops
