// What works on each row by itself, beside products: norms, residuals, embeddings, copies.
#include <vector>

#include "report.hpp"
#include "thinwire/model/model.hpp"
#include "thinwire/ops/layer_norm.hpp"

namespace thinwire::micro {
namespace {

void device_rows(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("rows")->UseRealTime();
  for (const int rows : kVitRows) benchmark->Arg(rows);
}

void layer_norm(benchmark::State& state) {
  const Index rows = state.range(0);
  const Matrix<float> x = random_matrix(rows, kHidden, "x");
  Matrix<float> y(rows, kHidden);
  const std::vector<float> ones(static_cast<std::size_t>(kHidden), 1.0F);
  const ops::LayerNorm normalise(ones, ones, 1e-12F, heap());
  Operations counted;
  time_calls(state, {5.0 * static_cast<double>(rows * kHidden), bytes_of(2 * rows * kHidden)},
             [&] { normalise(x.view(), y.view(), counted); });
}
BENCHMARK(layer_norm)->Apply(device_rows)->Arg(256)->Arg(1);

/// x += what attention gave, where it is not fused into the product (trace-nb). Added to itself x
/// would grow without end, hence the zeros.
void residual_add(benchmark::State& state) {
  const Index rows = state.range(0);
  const model::ModelConfig config = model::preset("vit-base-16");
  const model::Block block(config, 0, *model::random_weights(config, 0), {heap()});
  const Matrix<float> output(rows, kHidden);
  Matrix<float> x = random_matrix(rows, kHidden, "x");
  Operations counted;
  time_calls(state, {static_cast<double>(rows * kHidden), bytes_of(3 * rows * kHidden)},
             [&] { block.residual(output.view(), x.view(), counted); });
}
BENCHMARK(residual_add)->Apply(device_rows);

/// Patches are gathered and projected, positions added. Bytes: pixels, weights, rows.
void embed_patches(benchmark::State& state) {
  const Index rows = state.range(0);
  const model::ModelConfig config = model::preset("vit-base-16");
  const model::Embedding embed(config, *model::random_weights(config, 0), {heap()});
  const model::ModelInput input = model::random_input(config, config.tokens, 0);
  const Index inputs = config.patch_inputs();
  Matrix<float> x(rows, kHidden), patches(rows, inputs);
  Operations counted;
  time_calls(state,
             {product_flops(rows - 1, inputs, kHidden),  // the first row is the class token
              bytes_of(rows * inputs + inputs * kHidden + rows * kHidden)},
             [&] {
               embed(input, {0, rows}, x.view(), patches.view(), counted);
             });
}
BENCHMARK(embed_patches)->Apply(device_rows);

/// GPT-2: token and position rows, added. A smaller vocabulary than GPT-2's, which no cache holds
/// either, takes less time to make.
void embed_tokens(benchmark::State& state) {
  const Index rows = state.range(0);
  model::ModelConfig config = model::preset("gpt2");
  config.vocabulary = 16384;
  const model::Embedding embed(config, *model::random_weights(config, 0), {heap()});
  const model::ModelInput input = model::random_input(config, config.tokens, 0);
  Matrix<float> x(rows, kHidden);
  Operations counted;
  time_calls(state, {.bytes = bytes_of(3 * rows * kHidden)}, [&] {
    embed(input, {0, rows}, x.view(), {}, counted);
  });
}
BENCHMARK(embed_tokens)->ArgName("rows")->Arg(256)->Arg(128)->Arg(43)->UseRealTime();

/// Voltage's rows on their way between buffers: what a payload costs where it is copied.
void copy_rows(benchmark::State& state) {
  const Index rows = state.range(0);
  const Matrix<float> from = random_matrix(rows, kHidden, "from");
  Matrix<float> to(rows, kHidden);
  time_calls(state, {.bytes = bytes_of(2 * rows * kHidden)}, [&] { copy(from.view(), to.view()); });
}
BENCHMARK(copy_rows)->Apply(device_rows);

}  // namespace
}  // namespace thinwire::micro
