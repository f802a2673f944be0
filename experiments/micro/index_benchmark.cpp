// What a device of trace-b does beside products to code and decode its rows: the argmax of the
// search (the search less its bare product), packing and unpacking; and building a hierarchy.
// ViT-B/16's partitions at P = 2 and 3, K = 1024.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <vector>

#include "thinwire/base/random.hpp"
#include "thinwire/compress/hierarchy.hpp"
#include "thinwire/compress/index_frame.hpp"
#include "thinwire/ops/nearest_codeword.hpp"
#include "thinwire/ops/runtime.hpp"
#include "thinwire/ops/thread_binding.hpp"
#include "thinwire/tensor/matrix.hpp"

namespace thinwire::micro {
namespace {

constexpr Index kHidden = 768, kCodewords = 1024;
constexpr int kThreads = 2;

Matrix<float> random_matrix(Index rows, Index cols, const char* name) {
  Matrix<float> matrix(rows, cols);
  RandomStream(name, 0).fill_symmetric(matrix.view().elements(), 1.0F);
  return matrix;
}

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Every iteration runs the bare product, then the search, with the same weights' values: only the
/// search counts as time. The argmax is what the fastest search takes longer than the fastest
/// product: other programs can only lengthen either.
void nearest_codeword(benchmark::State& state) {
  const Index rows = state.range(0);
  ops::set_threads(kThreads);
  const ops::ThreadBinding binding(ops::allowed_cores());
  const Matrix<float> codewords = random_matrix(kCodewords, kHidden, "codewords");
  const Matrix<float> x = random_matrix(rows, kHidden, "x");
  const ops::NearestCodeword nearest(codewords.view(), ops::Similarity::cosine,
                                     std::array{kCodewords}, std::pmr::new_delete_resource());
  const ops::Linear product(codewords.view(), {}, {}, std::pmr::new_delete_resource());
  Matrix<float> scores(rows, kCodewords);
  Matrix<float> scratch(1, ops::NearestCodeword::scratch_floats(rows, kHidden, kCodewords));
  std::vector<std::int32_t> indices(static_cast<std::size_t>(rows));
  Operations counted;
  const auto multiply = [&] { product(x.view(), scores.view(), counted); };
  const auto search = [&] { nearest(x.view(), 0, scratch.view().elements(), indices, 1, counted); };
  multiply();
  search();
  double product_s = HUGE_VAL, search_s = HUGE_VAL;
  for ([[maybe_unused]] auto _ : state) {
    product_s = std::min(product_s, seconds_of(multiply));
    const double seconds = seconds_of(search);
    search_s = std::min(search_s, seconds);
    state.SetIterationTime(seconds);
  }
  state.counters["product_us"] = 1e6 * product_s;
  state.counters["argmax_us"] = 1e6 * (search_s - product_s);
  state.counters["argmax_percent"] = 100 * (search_s / product_s - 1);
}
BENCHMARK(nearest_codeword)->ArgName("rows")->Arg(99)->Arg(66)->UseManualTime();

/// A frame of trace-b at its finest level, and what it holds.
struct Frames {
  compress::FrameFormat format{.bits = compress::index_bits(kCodewords), .codewords = kCodewords};
  std::vector<std::int32_t> indices;
  std::vector<std::byte> bytes;

  explicit Frames(Index count) {
    const RandomStream random("indices", 0);
    for (Index i = 0; i < count; ++i)
      indices.push_back(
          static_cast<std::int32_t>(random.bits(static_cast<std::uint64_t>(i)) % kCodewords));
    bytes.resize(static_cast<std::size_t>(compress::frame_size(count, format.bits, true).bytes()));
    compress::pack_indices(indices, format, bytes);
  }
};

void pack_indices(benchmark::State& state) {
  Frames frames(state.range(0));
  for ([[maybe_unused]] auto _ : state) {
    compress::pack_indices(frames.indices, frames.format, frames.bytes);
    benchmark::DoNotOptimize(frames.bytes.data());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(pack_indices)->ArgName("indices")->Arg(99);

void unpack_indices(benchmark::State& state) {
  Frames frames(state.range(0));
  for ([[maybe_unused]] auto _ : state) {
    compress::unpack_indices(frames.bytes, frames.format, 0, frames.indices);
    benchmark::DoNotOptimize(frames.indices.data());
    benchmark::ClobberMemory();
  }
}
BENCHMARK(unpack_indices)->ArgName("indices")->Arg(99);

/// Set-up, once a codebook: never in a pass.
void build_hierarchy(benchmark::State& state) {
  ops::set_threads(kThreads);
  const Matrix<float> codewords = random_matrix(kCodewords, kHidden, "codewords");
  const std::vector<Index> levels = compress::default_levels(kCodewords);
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(
        compress::build_hierarchy(codewords.view(), levels, compress::Dissimilarity::euclidean));
}
BENCHMARK(build_hierarchy)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace thinwire::micro
