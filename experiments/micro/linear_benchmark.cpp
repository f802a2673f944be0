#include <algorithm>
#include <array>
#include <vector>

#include "ceiling.hpp"
#include "report.hpp"
#include "thinwire/ops/runtime.hpp"

namespace thinwire::micro {
namespace {

using Shape = std::array<int, 2>;  // inputs, outputs

/// Query and attention output, K|V, feed-forward up (with GELU) and down (onto the residual).
constexpr Shape kBlock[] = {{768, 768}, {768, 1536}, {768, 3072}, {3072, 768}};
constexpr Shape kLanguageModelHead = {768, 50257};
/// BERT-base's and GPT-2's 256 tokens on 1, 2, 3 and 6 devices.
constexpr int kTextRows[] = {256, 128, 86, 43};

void model_shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"rows", "inputs", "outputs"})->UseRealTime();
  const auto add = [&](int rows, const Shape& shape) {
    benchmark->Args({rows, shape[0], shape[1]});
  };
  for (const int rows : kVitRows)
    for (const Shape& shape : kBlock) add(rows, shape);
  for (const int rows : kTextRows)
    for (const Shape& shape : kBlock) add(rows, shape);
  for (const int rows : {256, 128, 1}) add(rows, kLanguageModelHead);
}

Product product_of(const benchmark::State& state) {
  const Product plain{state.range(0), state.range(1), state.range(2)};
  if (plain.outputs != 3072) return plain;
  return {plain.rows, plain.inputs, plain.outputs, ops::Activation::gelu_erf};
}

/// Bytes: weights, rows and results.
Work work_of(const Product& product, DType dtype = DType::fp32) {
  return {product.flops(),
          static_cast<double>(thinwire::bytes_of(dtype) * product.inputs * product.outputs) +
              bytes_of(product.rows * (product.inputs + product.outputs))};
}

ops::Epilogue epilogue_of(const Product& product) {
  const bool is_down = product.inputs > product.outputs;
  return {product.activation, is_down ? ops::Accumulate::yes : ops::Accumulate::no};
}

void time_linear(benchmark::State& state, DType dtype) {
  const Product product = product_of(state);
  const Matrix<float> weight(product.outputs, product.inputs);
  const Matrix<float> x(product.rows, product.inputs);
  const std::vector<float> bias(static_cast<std::size_t>(product.outputs));
  const ops::Linear multiply(weight.view(), bias, epilogue_of(product), heap(), ops::Packing::write,
                             dtype);
  Matrix<float> y(product.rows, product.outputs);
  Operations counted;
  time_calls(state, work_of(product, dtype), [&] { multiply(x.view(), y.view(), counted); });
}

/// As a pass does it.
void linear(benchmark::State& state) {
  time_linear(state, DType::fp32);
}
BENCHMARK(linear)->Apply(model_shapes);

/// As a pass with --dtype bf16 does it. Without the instructions nothing is timed.
void linear_bf16(benchmark::State& state) {
  if (ops::has_fast_bf16())
    time_linear(state, DType::bf16);
  else
    state.SkipWithError("this CPU has no AVX-512 BF16 instructions");
}
BENCHMARK(linear_bf16)->Apply(model_shapes);

/// As oneDNN alone does it.
void bare_matmul(benchmark::State& state) {
  const std::array products{product_of(state)};
  BareMatmuls multiply(products);
  time_calls(state, work_of(products[0]), [&] { multiply(); });
}
BENCHMARK(bare_matmul)->Apply(model_shapes);

}  // namespace
}  // namespace thinwire::micro
