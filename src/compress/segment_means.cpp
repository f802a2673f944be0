#include "thinwire/compress/segment_means.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "thinwire/base/error.hpp"

namespace thinwire::compress {
namespace {

bool is_real(std::span<const std::uint8_t> real, Index row) {
  return real.empty() || real[static_cast<std::size_t>(row)] != 0;
}

/// Columns whose sums stay in registers while a run of rows passes: the speed is that of reading
/// `input`. A partition is some hundred kilobytes: starting threads would cost more than they save.
constexpr Index kTogether = 16;  // floats
constexpr std::size_t kVectors = 8;
constexpr Index kBlock = kTogether * static_cast<Index>(kVectors);
using Floats [[gnu::vector_size(kTogether * sizeof(float))]] = float;

/// Rows of a run that are real, in order.
struct Run {
  MatrixView<const float> input;
  std::span<const std::uint8_t> real;
  Slice rows;
  Index count = 0;
};

/// Sums one row after the other, so that the result does not depend on how columns are grouped.
void mean_of_block(const Run& run, Index column, float* mean) {
  std::array<Floats, kVectors> sums = {};
  for (Index row = run.rows.begin; row < run.rows.end(); ++row) {
    if (!is_real(run.real, row)) continue;
    const float* const from = run.input.row(row).data() + column;
#pragma GCC unroll 16
    for (std::size_t v = 0; v < kVectors; ++v) {
      Floats values;
      std::memcpy(&values, from + static_cast<Index>(v) * kTogether, sizeof values);
      sums[v] += values;
    }
  }
  for (Floats& sum : sums) sum /= static_cast<float>(run.count);
  std::memcpy(mean + column, sums.data(), sizeof sums);
}

void mean_of_column(const Run& run, Index column, float* mean) {
  float sum = 0;
  for (Index row = run.rows.begin; row < run.rows.end(); ++row)
    if (is_real(run.real, row)) sum += run.input(row, column);
  mean[column] = sum / static_cast<float>(run.count);
}

void mean_of_run(Run run, std::span<float> mean) {
  for (Index row = run.rows.begin; row < run.rows.end(); ++row)
    run.count += is_real(run.real, row) ? 1 : 0;
  if (run.count == 0) {
    std::ranges::fill(mean, 0.0F);
    return;
  }
  const Index columns = std::ssize(mean), in_blocks = columns - columns % kBlock;
  for (Index c = 0; c < in_blocks; c += kBlock) mean_of_block(run, c, mean.data());
  for (Index c = in_blocks; c < columns; ++c) mean_of_column(run, c, mean.data());
}

}  // namespace

void segment_means(MatrixView<const float> input, std::span<const std::uint8_t> real,
                   MatrixView<float> means) {
  TW_REQUIRE(means.rows() >= 1 && means.rows() <= input.rows(), "{} segments for {} rows",
             means.rows(), input.rows());
  TW_REQUIRE(means.cols() == input.cols(), "means of {} columns for {}", means.cols(),
             input.cols());
  TW_REQUIRE(real.empty() || std::ssize(real) == input.rows(), "{} padding flags for {} rows",
             real.size(), input.rows());
  for (Index s = 0; s < means.rows(); ++s)
    mean_of_run({input, real, segment_rows(input.rows(), means.rows(), s)}, means.row(s));
}

}  // namespace thinwire::compress
