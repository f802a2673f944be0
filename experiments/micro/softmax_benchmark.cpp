#include <vector>

#include "report.hpp"
#include "softmax.hpp"
#include "thinwire/ops/attention.hpp"

namespace thinwire::micro {
namespace {

/// One query's scores on one thread; they are overwritten, so each call starts from a copy.
/// Bytes: scores in and out.
void softmax(benchmark::State& state) {
  const Index columns = state.range(0);
  const Matrix<float> fresh = random_matrix(1, columns, "scores");
  Matrix<float> scores(1, columns);
  const std::vector<float> log_counts(static_cast<std::size_t>(columns), 0.0F);
  const ops::KeyColumns keys{log_counts, {}};
  time_calls(state, {.bytes = 2 * bytes_of(columns)}, [&] {
    copy(fresh.view(), scores.view());
    benchmark::DoNotOptimize(
        ops::softmax_row<ops::Mask::none>(scores.view().row(0), 0.125F, keys, 0));
  });
}
BENCHMARK(softmax)->ArgName("columns")->Arg(197)->Arg(108)->Arg(256)->Arg(3137)->UseRealTime();

}  // namespace
}  // namespace thinwire::micro
