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

/// A product with weights of its own; inputs and outputs belong to the pass.
struct PackedProduct {
  explicit PackedProduct(const Product& product)
      : plan(ops::onednn::make_matmul({dense_layout(product.rows, product.inputs),
                                       ops::onednn::any_layout(product.inputs, product.outputs),
                                       dense_layout(product.rows, product.outputs),
                                       true,
                                       {product.activation}})),
        // Which value is where does not matter, so random bytes count as packed.
        weights(random_floats(static_cast<Index>(plan.weights_desc().get_size() / sizeof(float)))),
        bias(random_floats(product.outputs)),
        run(plan, dnnl::matmul(plan), borrow(plan.weights_desc(), weights.view().data()),
            borrow(dense_layout(1, product.outputs), bias.view().data())) {}

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
    input = std::max(input, product.rows * product.inputs);
    output = std::max(output, product.rows * product.outputs);
    impl_->flops += 2.0 * static_cast<double>(product.rows * product.inputs * product.outputs);
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
