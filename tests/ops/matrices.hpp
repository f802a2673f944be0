#pragma once
#include <string_view>

#include "thinwire/base/random.hpp"
#include "thinwire/tensor/matrix.hpp"

namespace thinwire::test {

constexpr double kFp32Epsilon = 0x1p-24;  ///< relative rounding error of one fp32 operation

/// Uniform with mean 0; `name` tells matrices of the same shape apart.
inline Matrix<float> random_matrix(Index rows, Index cols, std::string_view name,
                                   float deviation = 1.0F) {
  Matrix<float> matrix(rows, cols);
  RandomStream(name, 42).fill_symmetric(matrix.view().elements(), deviation);
  return matrix;
}

inline Matrix<float> copy_of(MatrixView<const float> from) {
  Matrix<float> to(from.rows(), from.cols());
  copy(from, to.view());
  return to;
}

}  // namespace thinwire::test
