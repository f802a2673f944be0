#pragma once
#include "packed_matmul.hpp"

namespace thinwire::ops {

/// Runs a product with bf16 weights [inputs, outputs] on fp32 rows, rounded to bf16 on the way.
/// Each of omp_get_max_threads() threads takes rows of its own where it gets enough of them: oneDNN
/// divides blocks of rows and columns, and leaves a thread idle behind the last, incomplete ones.
///   x [rows, inputs]   y [rows, outputs]   both dense. Any thread may call at any time.
void multiply_bf16(const PackedMatmul& multiply, onednn::MatrixShape weights, const float* x,
                   float* y, Index rows);

}  // namespace thinwire::ops
