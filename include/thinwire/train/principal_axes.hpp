#pragma once
#include <cstdint>

#include "thinwire/fabric/transport.hpp"
#include "thinwire/tensor/matrix.hpp"

namespace thinwire::train {

/// The subspace through the origin that holds most of the rows' squared length: `count` orthonormal
/// axes [count, width], by orthogonal iteration on the second moment. Without a mean taken off, a
/// search among codewords of that subspace is the same in it and in the full space, by cosine and
/// by squared distance.
///   rows [n, width]: this rank's part   1 <= count <= width
/// Collective; the same on all ranks.
/// Source: METHODS 3.4 (projection by PCA, where TRACE learns it).
Matrix<float> principal_axes(MatrixView<const float> rows, Index count, std::uint64_t seed,
                             fabric::Transport& ranks);

/// Coordinates [n, count] of rows [n, width] along the axes.
Matrix<float> project(MatrixView<const float> rows, MatrixView<const float> axes);
/// The rows [n, width] that have these coordinates [n, count].
Matrix<float> lift(MatrixView<const float> coordinates, MatrixView<const float> axes);

}  // namespace thinwire::train
