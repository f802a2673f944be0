#include "report.hpp"
#include "softmax.hpp"
#include "thinwire/ops/attention.hpp"

namespace thinwire::micro {
namespace {

constexpr Index kPadding = 16;  ///< of scores: less than a vector

/// One query's weights on one thread; they overwrite the scores, so each call starts from a copy.
/// Bytes: scores in, weights out.
void softmax(benchmark::State& state) {
  const Index columns = state.range(0);
  const Matrix<float> fresh = random_matrix(1, columns, "scores");
  Matrix<float> scores(1, columns + kPadding);
  const Matrix<float> starts(1, columns);
  const ops::KeyColumns keys{starts.view().data(), nullptr, columns};
  time_calls(state, {.bytes = 2 * bytes_of(columns)}, [&] {
    copy(fresh.view(), scores.view().cols(0, columns));
    benchmark::DoNotOptimize(
        ops::weigh<ops::Mask::none>(scores.view().row(0).data(), 0.125F, keys, 0));
  });
}
BENCHMARK(softmax)->ArgName("columns")->Arg(197)->Arg(108)->Arg(256)->Arg(3137)->UseRealTime();

}  // namespace
}  // namespace thinwire::micro
