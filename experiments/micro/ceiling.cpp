#include "ceiling.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "onednn.hpp"
#include "thinwire/base/random.hpp"
#include "thinwire/tensor/matrix.hpp"

namespace thinwire::micro {
namespace {

using ops::onednn::borrow;
using ops::onednn::dense_layout;

Matrix<float> random_floats(Index count) {
  Matrix<float> result(1, count);
  RandomStream("ceiling", 1).fill_symmetric(result.view().elements(), 0.02F);
  return result;
}

/// Rows of one head behind those of the one before, nothing between them.
ops::onednn::Layout stacked(Index heads, Index rows, Index cols) {
  if (heads == 1) return dense_layout(rows, cols);
  return {{heads, rows, cols}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::abc};
}

ops::onednn::MatmulPlan plan_of(const Product& product) {
  const auto& [rows, inputs, outputs, activation, heads] = product;
  const bool is_packed = heads == 1;
  return ops::onednn::make_matmul(
      {stacked(heads, rows, inputs),
       is_packed ? ops::onednn::any_layout(inputs, outputs) : stacked(heads, inputs, outputs),
       stacked(heads, rows, outputs),
       is_packed,
       {activation}});
}

/// A product with weights of its own; inputs and outputs belong to the pass.
struct PackedProduct {
  explicit PackedProduct(const Product& product)
      : plan(plan_of(product)),
        // Which value is where does not matter, so random bytes count as packed.
        weights(random_floats(static_cast<Index>(plan.weights_desc().get_size() / sizeof(float)))),
        bias(random_floats(product.outputs)),
        run(plan, dnnl::matmul(plan), borrow(plan.weights_desc(), weights.view().data()),
            product.heads > 1 ? dnnl::memory()
                              : borrow(dense_layout(1, product.outputs), bias.view().data())) {}

  ops::onednn::MatmulPlan plan;
  Matrix<float> weights, bias;
  ops::onednn::BoundMatmul run;
};

}  // namespace

struct BareMatmuls::Impl {
  std::vector<PackedProduct> products;
  Matrix<float> input, output;
  double flops = 0;
};

BareMatmuls::BareMatmuls(std::span<const Product> products) : impl_(std::make_unique<Impl>()) {
  Index input = 0, output = 0;
  for (const Product& product : products) {
    impl_->products.emplace_back(product);
    input = std::max(input, product.heads * product.rows * product.inputs);
    output = std::max(output, product.heads * product.rows * product.outputs);
    impl_->flops += product.flops();
  }
  impl_->input = random_floats(input);
  impl_->output = random_floats(output);
}

BareMatmuls::BareMatmuls(BareMatmuls&&) noexcept = default;
BareMatmuls::~BareMatmuls() = default;

void BareMatmuls::operator()() {
  for (PackedProduct& product : impl_->products)
    ops::onednn::check(product.run(impl_->input.view().data(), impl_->output.view().data()),
                       "a bare product");
}

double BareMatmuls::flops() const {
  return impl_->flops;
}

double bare_matmul_seconds(BareMatmuls& matmuls) {
  const auto start = std::chrono::steady_clock::now();
  matmuls();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace thinwire::micro
