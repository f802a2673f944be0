#include "thinwire/train/code_statistics.hpp"

#include <algorithm>
#include <cstring>

namespace thinwire::train {
namespace {

// A gathered chunk is this many doubles a rank: far below what MPI's int counts carry.
constexpr std::size_t kChunk = std::size_t{1} << 20;

}  // namespace

void sum_over_ranks(fabric::Transport& ranks, std::span<double> values) {
  if (ranks.size() == 1) return;
  for (std::size_t begin = 0; begin < values.size(); begin += kChunk) {
    const std::span<double> chunk = values.subspan(begin, std::min(kChunk, values.size() - begin));
    const auto parts = fabric::gather_all(ranks, std::as_bytes(chunk));
    std::ranges::fill(chunk, 0.0);
    for (const std::vector<std::byte>& part : parts)
      for (std::size_t i = 0; i < chunk.size(); ++i) {
        double value = 0;
        std::memcpy(&value, part.data() + i * sizeof value, sizeof value);
        chunk[i] += value;
      }
  }
}

CodeStatistics::CodeStatistics(Index codewords, Index width)
    : counts(static_cast<std::size_t>(codewords)), sums(codewords, width) {}

void CodeStatistics::add(std::span<const float> row, Index code) {
  counts[static_cast<std::size_t>(code)] += 1;
  const std::span<double> sum = sums.view().row(code);
  for (std::size_t c = 0; c < row.size(); ++c) sum[c] += double{row[c]};
}

CodeStatistics& CodeStatistics::operator+=(const CodeStatistics& other) {
  TW_REQUIRE(counts.size() == other.counts.size() && sums.cols() == other.sums.cols(),
             "statistics of {} codewords of {} added to {} of {}", other.counts.size(),
             other.sums.cols(), counts.size(), sums.cols());
  std::ranges::transform(counts, other.counts, counts.begin(), std::plus{});
  const auto more = other.sums.view().elements();
  std::ranges::transform(sums.view().elements(), more, sums.view().elements().begin(), std::plus{});
  return *this;
}

void CodeStatistics::reduce(fabric::Transport& ranks) {
  sum_over_ranks(ranks, counts);
  sum_over_ranks(ranks, sums.view().elements());
}

}  // namespace thinwire::train
