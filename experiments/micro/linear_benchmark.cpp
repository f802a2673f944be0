#include <array>
#include <vector>

#include "ceiling.hpp"
#include "report.hpp"
#include "thinwire/tensor/matrix.hpp"

namespace thinwire::micro {
namespace {

/// ViT-B/16's products (inputs, outputs) at the rows that 1, 2, 3 and 6 devices have.
void vit_shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"rows", "inputs", "outputs"})->UseRealTime();
  for (const int rows : {197, 98, 65, 33})
    for (const auto& [inputs, outputs] : {std::array{768, 768}, std::array{768, 1536},
                                          std::array{768, 3072}, std::array{3072, 768}})
      benchmark->Args({rows, inputs, outputs});
}

Product product_of(const benchmark::State& state) {
  const Product plain{state.range(0), state.range(1), state.range(2)};
  if (plain.outputs != 3072) return plain;
  return {plain.rows, plain.inputs, plain.outputs, ops::Activation::gelu_erf};
}

void linear(benchmark::State& state) {
  const auto [rows, inputs, outputs, activation] = product_of(state);
  const Matrix<float> weight(outputs, inputs), x(rows, inputs);
  const std::vector<float> bias(static_cast<std::size_t>(outputs));
  const ops::Linear multiply(weight.view(), bias, {activation}, std::pmr::new_delete_resource());
  Matrix<float> y(rows, outputs);
  Operations counted;
  multiply(x.view(), y.view(), counted);
  for ([[maybe_unused]] auto _ : state) multiply(x.view(), y.view(), counted);
  report_flops(state, 2.0 * static_cast<double>(rows * inputs * outputs));
}
BENCHMARK(linear)->Apply(vit_shapes);

void bare_matmul(benchmark::State& state) {
  const std::array products{product_of(state)};
  BareMatmuls multiply(products);
  multiply();
  for ([[maybe_unused]] auto _ : state) multiply();
  report_flops(state, multiply.flops());
}
BENCHMARK(bare_matmul)->Apply(vit_shapes);

}  // namespace
}  // namespace thinwire::micro
