// Segment Means beside reading the same rows and writing as many means, and packing rows (out of a
// wider matrix into a payload, and back) beside memcpy of the same bytes, one thread, in turn: a
// partition that lies in a core's cache, and one beyond all caches. Prints rows of a Markdown
// table; exit status 1 when a figure misses its target.
//
//   packing_cost [BLOCKS]
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "figure.hpp"
#include "thinwire/compress/segment_means.hpp"
#include "thinwire/ops/runtime.hpp"
#include "thinwire/ops/thread_binding.hpp"
#include "thinwire/tensor/matrix.hpp"

namespace thinwire::costs {
namespace {

constexpr double kTarget = 1.10;
constexpr Index kHidden = 768;

struct Size {
  const char* name;
  Index rows;
  int calls;  // a block, some milliseconds to tens of them
};
constexpr Size kSizes[] = {{"in cache", 98, 500}, {"beyond caches", 65'536, 1}};

/// Reads every number once, as fast as the core can: the bare cost of a mean of all.
float read_all(std::span<const float> values) {
  constexpr std::size_t kLanes = 128;  // enough additions under way to hide their latency
  std::array<float, kLanes> sums{};
  for (std::size_t i = 0; i + kLanes <= values.size(); i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += values[i + lane];
  float sum = 0;
  for (const float lane : sums) sum += lane;
  return sum;
}

/// Keeps the compiler from leaving out work whose result nobody reads.
template <class T>
void use(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

bool measure(const Size& size, int blocks) {
  const Index segments = size.rows / 10;
  Matrix<float> rows(size.rows, kHidden), wide(size.rows, kHidden + 16);
  Matrix<float> means(segments, kHidden), payload(size.rows, kHidden);
  std::ranges::fill(rows.view().elements(), 1.0F);
  std::ranges::fill(wide.view().elements(), 2.0F);
  std::ranges::fill(payload.view().elements(), 0.0F);
  const MatrixView<float> part = wide.view().cols(0, kHidden);

  const auto bare_copy = [&] {
    std::memcpy(payload.view().data(), rows.view().data(), payload.view().elements().size_bytes());
    use(payload);
  };
  const Paired meaned = alternate(
      blocks, size.calls,
      [&] {
        compress::segment_means(rows.view(), {}, means.view());
        use(means);
      },
      [&] {
        const float sum = read_all(std::as_const(rows).view().elements());
        std::ranges::fill(means.view().elements(), sum);
        use(means);
      });
  const Paired packed = alternate(
      blocks, size.calls,
      [&] {
        copy<float>(part, payload.view());
        use(payload);
      },
      bare_copy);
  const Paired unpacked = alternate(
      blocks, size.calls,
      [&] {
        copy<float>(payload.view(), part);
        use(part);
      },
      bare_copy);
  const std::string bytes =
      fmt::format("{:.1f} MB, {}", static_cast<double>(size.rows * kHidden * 4) * 1e-6, size.name);
  const std::array results = {
      print_ratio(fmt::format("Segment Means of {}, beside reading it and writing them", bytes),
                  meaned, kTarget),
      print_ratio(fmt::format("packing rows, {}, beside memcpy", bytes), packed, kTarget),
      print_ratio(fmt::format("unpacking rows, {}, beside memcpy", bytes), unpacked, kTarget)};
  return std::ranges::all_of(results, std::identity{});
}

}  // namespace
}  // namespace thinwire::costs

int main(int argc, char** argv) {
  using namespace thinwire;
  const int blocks = argc > 1 ? std::atoi(argv[1]) : 31;
  ops::set_threads(1);
  const ops::ThreadBinding binding(ops::allowed_cores());
  bool holds = true;
  for (const costs::Size& size : costs::kSizes) holds = costs::measure(size, blocks) && holds;
  return holds ? 0 : 1;
}
