#pragma once
#include <memory>
#include <memory_resource>
#include <span>

#include "thinwire/base/dtype.hpp"
#include "thinwire/base/operations.hpp"
#include "thinwire/tensor/matrix.hpp"

namespace thinwire::ops {

enum class Activation { none, gelu_erf, gelu_tanh };
enum class Accumulate { no, yes };  ///< yes: y += ..., the residual without a copy

/// What is fused behind the product.
struct Epilogue {
  Activation activation = Activation::none;
  Accumulate accumulate = Accumulate::no;
  bool operator==(const Epilogue&) const = default;
};

/// Who writes the packed weights: with memory that the ranks of a node share, one rank packs and
/// the others only attach to the same bytes.
enum class Packing { write, attach };

/// y = activation(x * transpose(weight) + bias), or y += that.
///   weight [outputs, inputs]   x [rows, inputs]   y [rows, outputs]   all fp32, x and y dense
/// With DType::bf16 `weight` and x are rounded to bf16 and their exact products summed in fp32.
class Linear {
 public:
  /// Packs `weight` once, in a layout that serves every row count (panels of our own in fp32,
  /// oneDNN's in bf16); it and the bias (may be empty) are held in `memory`. With Packing::attach the
  /// contents of `weight` and `bias` are not read (their shapes are), and the bytes at the place
  /// that `memory` returns are taken as they are.
  /// DType::bf16 is for CPUs with has_fast_bf16() (runtime.hpp); others throw Error or are slow.
  Linear(MatrixView<const float> weight, std::span<const float> bias, Epilogue epilogue,
         std::pmr::memory_resource* memory, Packing packing = Packing::write,
         DType dtype = DType::fp32);
  Linear(Linear&&) noexcept;
  Linear& operator=(Linear&&) noexcept;
  ~Linear();

  /// Any number of rows (0: nothing happens); in bf16 the primitive for a row count and thread count
  /// is built at its first use and kept. Uses omp_get_max_threads() threads. Safe to call from
  /// several threads at once. In fp32 a row's bits depend neither on the other rows nor on threads.
  /// Adds rows * inputs * outputs multiply-accumulates, and the elements of the bias, activation
  /// and residual to `counted`.
  void operator()(MatrixView<const float> x, MatrixView<float> y, Operations& counted) const;

  Index inputs() const;
  Index outputs() const;
  Epilogue epilogue() const;
  DType dtype() const;
  /// The weights [outputs, inputs] bit for bit as they were before packing, those of bf16 as they
  /// were rounded: for making parts of a product at set-up, not for a pass.
  Matrix<float> unpacked() const;
  /// [outputs], or empty without a bias.
  std::span<const float> bias() const;
  /// Bytes that packed weights and bias take.
  std::int64_t packed_bytes() const;

 private:
  struct Impl;  // keeps dnnl types out of this header
  std::unique_ptr<Impl> impl_;
};

}  // namespace thinwire::ops
