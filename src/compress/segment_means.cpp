#include "thinwire/compress/segment_means.hpp"

#include <algorithm>

#include "thinwire/base/error.hpp"

namespace thinwire::compress {
namespace {

bool is_real(std::span<const std::uint8_t> real, Index row) {
  return real.empty() || real[static_cast<std::size_t>(row)] != 0;
}

// The row loops run over raw pointers so that they vectorise; a mean's row stays in the L1 cache
// while its run streams past, hence the speed is that of reading `input`. A partition is some
// hundred kilobytes: starting threads would cost more than they save.
void add_row(const float* row, Index cols, float* sum) {
  for (Index c = 0; c < cols; ++c) sum[c] += row[c];
}

void divide_row(float* sum, Index cols, Index count) {
  const auto divisor = static_cast<float>(count);
  for (Index c = 0; c < cols; ++c) sum[c] /= divisor;
}

void mean_of_run(MatrixView<const float> input, std::span<const std::uint8_t> real, Slice run,
                 std::span<float> mean) {
  std::ranges::fill(mean, 0.0F);
  Index count = 0;
  for (Index row = run.begin; row < run.end(); ++row) {
    if (!is_real(real, row)) continue;
    add_row(input.row(row).data(), input.cols(), mean.data());
    ++count;
  }
  if (count > 1) divide_row(mean.data(), input.cols(), count);
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
    mean_of_run(input, real, segment_rows(input.rows(), means.rows(), s), means.row(s));
}

}  // namespace thinwire::compress
