#include "bf16_matmul.hpp"

#include <omp.h>

#include <exception>

#include "bf16_rows.hpp"

namespace thinwire::ops {
namespace {

/// With fewer rows a thread reads the weights for too little work.
constexpr Index kLeastRows = 48;

}  // namespace

void multiply_bf16(const PackedMatmul& multiply, onednn::MatrixShape weights, const float* x,
                   float* y, Index rows) {
  const auto [inputs, outputs] = weights;
  const int parts = omp_get_max_threads();
  if (parts == 1 || rows < kLeastRows * parts) {
    multiply(as_bf16(x, rows * inputs), y, rows);
    return;
  }
  std::exception_ptr failure;
#pragma omp parallel for schedule(static, 1) num_threads(parts)
  for (int part = 0; part < parts; ++part) {
    omp_set_num_threads(1);  // of this task alone
    const Index begin = rows * part / parts, end = rows * (part + 1) / parts;
    try {
      multiply(as_bf16(x + begin * inputs, (end - begin) * inputs), y + begin * outputs,
               end - begin);
    } catch (...) {  // must not leave the region
#pragma omp critical(thinwire_multiply_bf16)
      failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace thinwire::ops
