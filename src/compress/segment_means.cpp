#include "thinwire/compress/segment_means.hpp"

#include <algorithm>
#include <array>

#include "thinwire/base/error.hpp"

namespace thinwire::compress {
namespace {

bool is_real(std::span<const std::uint8_t> real, Index row) {
  return real.empty() || real[static_cast<std::size_t>(row)] != 0;
}

// A mean's row stays in the L1 cache while its run streams past, several rows at a time, so that it
// is loaded and stored seldom: the speed is that of reading `input`. Memory is fastest read from
// one place to the next, hence the rows that follow are fetched ahead in their order. A partition
// is some hundred kilobytes: starting threads would cost more than they save.
constexpr std::size_t kRowsAtOnce = 4;
constexpr Index kChunk = 64;  // columns, a few cache lines of each row

/// A few rows of a run, in order.
struct Rows {
  std::array<const float*, kRowsAtOnce> data{};
  std::size_t count = 0;
};

void fetch_ahead(const float* from, Index count) {
  constexpr Index kLine = 64 / sizeof(float);
  for (Index i = 0; i < count; i += kLine) __builtin_prefetch(from + i);
}

/// sum = (sum + row 0 + row 1 ...) / divisor, added one after the other, so that the result does
/// not depend on how rows are grouped.
template <std::size_t Count, bool Divides>
void add_rows(const Rows& rows, Index cols, float divisor, float* __restrict sum) {
  constexpr auto kCount = static_cast<Index>(Count);
  std::array<const float*, Count> row;
  std::copy_n(rows.data.begin(), Count, row.begin());
  const float* const ahead = row.back() + cols;
  const auto add = [&](Index begin, Index end) {
    for (Index c = begin; c < end; ++c) {
      float value = sum[c];
      for (std::size_t r = 0; r < Count; ++r) value += row[r][c];
      sum[c] = Divides ? value / divisor : value;
    }
  };
  const Index chunked = cols - cols % kChunk;
  for (Index begin = 0; begin < chunked; begin += kChunk) {
    fetch_ahead(ahead + begin * kCount, kChunk * kCount);
    add(begin, begin + kChunk);
  }
  add(chunked, cols);
}

template <std::size_t Count = kRowsAtOnce>
void add_last_rows(const Rows& rows, Index cols, Index divisor, float* sum) {
  if constexpr (Count > 1)
    if (rows.count < Count) return add_last_rows<Count - 1>(rows, cols, divisor, sum);
  add_rows<Count, true>(rows, cols, static_cast<float>(divisor), sum);
}

void mean_of_run(MatrixView<const float> input, std::span<const std::uint8_t> real, Slice run,
                 std::span<float> mean) {
  std::ranges::fill(mean, 0.0F);
  Rows next;  // found, not yet added: the last ones are added and divided in one go
  Index count = 0;
  for (Index row = run.begin; row < run.end(); ++row) {
    if (!is_real(real, row)) continue;
    if (next.count == kRowsAtOnce) {
      add_rows<kRowsAtOnce, false>(next, input.cols(), 1, mean.data());
      next.count = 0;
    }
    next.data[next.count++] = input.row(row).data();
    ++count;
  }
  if (count > 0) add_last_rows(next, input.cols(), count, mean.data());
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
