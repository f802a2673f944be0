#pragma once
#include <benchmark/benchmark.h>

namespace thinwire::micro {

/// Adds a rate column from what one iteration does.
inline void report_flops(benchmark::State& state, double flops) {
  state.counters["flops_per_s"] =
      benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace thinwire::micro
