#pragma once
#include <memory>
#include <span>

#include "thinwire/ops/linear.hpp"

namespace thinwire::micro {

/// y [rows, outputs] = activation(x [rows, inputs] * weights + bias), or with heads > 1 as many
/// products without a bias behind each other, as attention has.
struct Product {
  Index rows, inputs, outputs;
  ops::Activation activation = ops::Activation::none;
  Index heads = 1;

  double flops() const { return 2.0 * static_cast<double>(heads * rows * inputs * outputs); }
};

/// The products of a model's pass as oneDNN alone does them: weights packed in the layout it likes
/// best for this very row count, each product with weights of its own (as large models have, which
/// do not stay in a cache), nothing between the products.
class BareMatmuls {
 public:
  /// Uses the calling thread's number of OpenMP threads from here on.
  explicit BareMatmuls(std::span<const Product> products);
  BareMatmuls(BareMatmuls&&) noexcept;
  ~BareMatmuls();

  /// Runs every product once, in order.
  void operator()();
  double flops() const;  ///< of one run

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Wall time of one run, in seconds: what a pass of the model cannot be faster than.
double bare_matmul_seconds(BareMatmuls& matmuls);

}  // namespace thinwire::micro
