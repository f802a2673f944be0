#include <vector>

#include "report.hpp"
#include "thinwire/base/random.hpp"
#include "thinwire/ops/layer_norm.hpp"

namespace thinwire::micro {
namespace {

void layer_norm(benchmark::State& state) {
  const Index rows = state.range(0), hidden = 768;
  Matrix<float> x(rows, hidden), y(rows, hidden);
  RandomStream("x", 1).fill_symmetric(x.view().elements(), 1.0F);
  const std::vector<float> weight(static_cast<std::size_t>(hidden), 1.0F), bias(weight);
  const ops::LayerNorm normalise(weight, bias, 1e-12F, std::pmr::new_delete_resource());
  Operations counted;
  for ([[maybe_unused]] auto _ : state) normalise(x.view(), y.view(), counted);
  state.counters["elements_per_s"] = benchmark::Counter(
      static_cast<double>(rows * hidden), benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(layer_norm)->ArgName("rows")->Arg(197)->Arg(98)->Arg(33)->Arg(1)->UseRealTime();

}  // namespace
}  // namespace thinwire::micro
