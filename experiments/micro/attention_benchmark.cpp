#include <numeric>
#include <vector>

#include "report.hpp"
#include "thinwire/base/random.hpp"
#include "thinwire/ops/attention.hpp"
#include "thinwire/ops/runtime.hpp"

namespace thinwire::micro {
namespace {

/// 12 heads of 64: ViT-B/16 alone, with PRISM (L = 10) and with exact keys on 2 devices; ViViT.
void attention(benchmark::State& state) {
  const Index rows = state.range(0), columns = state.range(1), hidden = 768;
  const auto mask = static_cast<ops::Mask>(state.range(2));
  const auto fill = [](MatrixView<float> view, const char* name) {
    RandomStream(name, 1).fill_symmetric(view.elements(), 1.0F);
  };
  Matrix<float> query(rows, hidden), output(rows, hidden);
  ops::KvContext context(columns, hidden, std::pmr::new_delete_resource());
  std::vector<std::int32_t> positions(static_cast<std::size_t>(columns));
  std::iota(positions.begin(), positions.end(), 0);
  fill(query.view(), "query");
  fill(context.append(std::vector<float>(positions.size()), positions), "kv");
  ops::Attention attend(12, 64, mask, rows, columns, ops::threads(),
                        std::pmr::new_delete_resource());
  Operations counted;
  const auto pass = [&] {
    attend(query.view(), context, std::span(positions).last(static_cast<std::size_t>(rows)),
           output.view(), counted);
  };
  pass();
  for ([[maybe_unused]] auto _ : state) pass();
  report_flops(state, 4.0 * static_cast<double>(rows * columns * hidden));
}
BENCHMARK(attention)
    ->ArgNames({"rows", "columns", "causal"})
    ->Args({197, 197, 0})
    ->Args({98, 108, 0})
    ->Args({98, 197, 0})
    ->Args({33, 197, 0})
    ->Args({256, 256, 1})
    ->Args({3137, 3137, 0})
    ->UseRealTime();

}  // namespace
}  // namespace thinwire::micro
