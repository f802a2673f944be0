#include <cmath>
#include <numeric>
#include <vector>

#include "report.hpp"
#include "thinwire/ops/attention.hpp"
#include "thinwire/ops/runtime.hpp"

namespace thinwire::micro {
namespace {

/// Columns of a context: the first `rows` are the device's own tokens, the last `means` stand for
/// nine tokens each, as PRISM's do, and all others are exact.
void fill(ops::KvContext& context, Index means) {
  const auto columns = static_cast<std::size_t>(context.capacity());
  std::vector<std::int32_t> last(columns);
  std::iota(last.begin(), last.end(), 0);
  std::vector<float> log_counts(columns, 0.0F);
  std::fill(log_counts.end() - means, log_counts.end(), std::log(9.0F));
  RandomStream("kv", 1).fill_symmetric(context.append(log_counts, last).elements(), 1.0F);
}

/// 12 heads of 64. Bytes: queries, keys, values and the result; scores are meant to stay in cache.
void attention(benchmark::State& state) {
  const Index rows = state.range(0), columns = state.range(1);
  const auto mask = static_cast<ops::Mask>(state.range(3));
  const Matrix<float> query = random_matrix(rows, kHidden, "query");
  Matrix<float> output(rows, kHidden);
  ops::KvContext context(columns, kHidden, heap());
  fill(context, state.range(2));
  ops::Attention attend(12, 64, mask, rows, columns, ops::threads(), heap());
  // Causal queries are the last rows of the sequence, those that see most.
  const auto positions = context.last().last(static_cast<std::size_t>(rows));
  Operations counted;
  time_calls(state,
             {2 * product_flops(rows, columns, kHidden), bytes_of(2 * (rows + columns) * kHidden)},
             [&] { attend(query.view(), context, positions, output.view(), counted); });
}
BENCHMARK(attention)
    ->ArgNames({"rows", "columns", "means", "causal"})
    ->Args({197, 197, 0, 0})  // ViT-B/16 on 1, 2, 3 and 6 devices with exact keys
    ->Args({98, 197, 0, 0})
    ->Args({65, 197, 0, 0})
    ->Args({33, 197, 0, 0})
    ->Args({98, 108, 10, 0})  // with PRISM's means of 2, 3 and 6 devices, L = 10
    ->Args({65, 85, 20, 0})
    ->Args({33, 83, 50, 0})
    ->Args({256, 256, 0, 0})  // BERT-base
    ->Args({256, 256, 0, 1})  // GPT-2, whole, and the second of two devices with exact keys
    ->Args({128, 256, 0, 1})
    ->Args({128, 192, 64, 1})   // and with PRISM's means, L = 64
    ->Args({3137, 3137, 0, 0})  // ViViT
    ->UseRealTime();

/// What a device adds to its context for its peers' tokens, beside the rows: counts and positions.
void append_columns(benchmark::State& state) {
  const Index columns = state.range(0);
  ops::KvContext context(columns, kHidden, heap());
  const std::vector<float> log_counts(static_cast<std::size_t>(columns), 2.0F);
  const std::vector<std::int32_t> last(static_cast<std::size_t>(columns), 5);
  time_calls(state, {.bytes = 2 * bytes_of(2 * columns)}, [&] {
    context.clear();
    context.append(log_counts, last);
  });
}
BENCHMARK(append_columns)->ArgName("columns")->Arg(99)->Arg(10)->UseRealTime();

}  // namespace
}  // namespace thinwire::micro
