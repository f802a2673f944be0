#pragma once
#include <benchmark/benchmark.h>

#include <memory_resource>

#include "thinwire/base/random.hpp"
#include "thinwire/tensor/matrix.hpp"

namespace thinwire::micro {

/// What one call does: floating-point operations (2 a multiply-accumulate; 0: none worth a rate),
/// and bytes that it must read and write, each counted once.
struct Work {
  double flops = 0;
  double bytes = 0;
};

/// Adds rate columns in SI units, 10^9 a second.
inline void report(benchmark::State& state, const Work& work) {
  constexpr double kGiga = 1e9;
  const auto rate = [&](double amount) {
    return benchmark::Counter(amount / kGiga, benchmark::Counter::kIsIterationInvariantRate);
  };
  if (work.flops > 0) state.counters["GFLOP/s"] = rate(work.flops);
  if (work.bytes > 0) state.counters["GB/s"] = rate(work.bytes);
}

/// Times calls of `work`, the first of which makes what is kept and is not timed.
inline void time_calls(benchmark::State& state, const Work& amount, const auto& call) {
  call();
  for ([[maybe_unused]] auto _ : state) {
    call();
    benchmark::ClobberMemory();
  }
  report(state, amount);
}

/// Bytes of `count` fp32 or int32 values.
inline double bytes_of(Index count) {
  return 4.0 * static_cast<double>(count);
}
inline double product_flops(Index rows, Index inputs, Index outputs) {
  return 2.0 * static_cast<double>(rows * inputs * outputs);
}

inline Matrix<float> random_matrix(Index rows, Index cols, const char* name) {
  Matrix<float> matrix(rows, cols);
  RandomStream(name, 1).fill_symmetric(matrix.view().elements(), 1.0F);
  return matrix;
}

inline std::pmr::memory_resource* heap() {
  return std::pmr::new_delete_resource();
}

/// Rows that a device has of ViT-B/16's 197 tokens when it is one of 1, 2, 3 or 6.
inline constexpr int kVitRows[] = {197, 98, 65, 33};
inline constexpr Index kHidden = 768;  ///< of ViT-B/16, BERT-base and GPT-2

}  // namespace thinwire::micro
