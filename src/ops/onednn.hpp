#pragma once
#include <array>
#include <dnnl.hpp>
#include <optional>

#include "thinwire/base/types.hpp"
#include "thinwire/ops/linear.hpp"

/// What this room takes from oneDNN, in one spelling: versions 2.x and 3.x build primitives in
/// different ways, and only onednn.cpp knows which one it is compiled against.
namespace thinwire::ops::onednn {

using Layout = dnnl::memory::desc;
using MatmulPlan = dnnl::matmul::primitive_desc;

/// Objects of one computation must share an engine, so the process has one.
const dnnl::engine& cpu();

/// A matrix whose element (r, c) is at r * row_stride + c * column_stride.
Layout strided_layout(Index rows, Index cols, Index row_stride, Index column_stride,
                      DType dtype = DType::fp32);
inline Layout dense_layout(Index rows, Index cols, DType dtype = DType::fp32) {
  return strided_layout(rows, cols, cols, 1, dtype);
}
/// A matrix in the layout that the primitive likes best.
Layout any_layout(Index rows, Index cols, DType dtype = DType::fp32);
/// Of a layout made with one of these.
DType dtype_of(const Layout& layout);

struct MatrixShape {
  Index rows, cols;
};
MatrixShape shape_of(const Layout& layout);

/// destination = epilogue(source * weights + bias)
///   source [rows, inputs]   weights [inputs, outputs]   bias [1, outputs]
struct MatmulLayouts {
  Layout source, weights, destination;
  bool has_bias = false;
  Epilogue epilogue = {};
};

/// What oneDNN would run for these layouts, with the calling thread's number of threads baked in;
/// nothing when it cannot.
std::optional<MatmulPlan> find_matmul(const MatmulLayouts& layouts);
/// The same; throws Error when oneDNN cannot.
MatmulPlan make_matmul(const MatmulLayouts& layouts);

/// The library's plain loops, correct and some hundred times slower than its kernels.
bool is_reference(const MatmulPlan& plan);

/// A memory object over someone else's bytes.
dnnl::memory borrow(const Layout& layout, const void* bytes);
void reorder(const dnnl::memory& from, const dnnl::memory& to);

/// Throws Error that names `what` unless `status` is success.
void check(dnnl_status_t status, const char* what);

/// A matmul with memory objects of its own, so that calls only exchange pointers. Not to be called
/// by two threads at once.
class BoundMatmul {
 public:
  /// `primitive` was made from `plan`; several BoundMatmul may share it. `weights` and `bias` stay
  /// as they are bound here.
  BoundMatmul(const MatmulPlan& plan, dnnl::matmul primitive, dnnl::memory weights,
              dnnl::memory bias = {});

  /// Status instead of exceptions, which must not leave an OpenMP region.
  /// `source` and `weights` are of the plan's types, `destination` is fp32.
  dnnl_status_t operator()(const void* source, float* destination) noexcept;

 private:
  dnnl::matmul primitive_;
  dnnl::stream stream_;
  dnnl::memory source_, weights_, bias_, destination_, scratchpad_;
  std::array<dnnl_exec_arg_t, 5> arguments_ = {};
  int argument_count_ = 0;
};

}  // namespace thinwire::ops::onednn
