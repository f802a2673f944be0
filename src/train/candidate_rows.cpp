#include "thinwire/train/candidate_rows.hpp"

#include <algorithm>
#include <cstring>

#include "thinwire/base/error.hpp"

namespace thinwire::train {
namespace {

void append_bytes(std::vector<std::byte>& bytes, std::span<const std::byte> more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

}  // namespace

void CandidateRows::offer(double key, std::span<const float> values) {
  if (!is_open()) return;
  rows_.push_back({key, {values.begin(), values.end()}});
  if (rows_.size() >= 2 * capacity_) keep_best();  // sorts once in `capacity_` offers
}

void CandidateRows::keep_best() {
  std::ranges::stable_sort(rows_, std::ranges::greater{}, &Row::key);
  if (rows_.size() > capacity_) rows_.resize(capacity_);
}

void CandidateRows::merge(const CandidateRows& other) {
  for (const Row& row : other.rows_) offer(row.key, row.values);
}

void CandidateRows::reduce(fabric::Transport& ranks) {
  if (ranks.size() == 1) return;
  keep_best();
  const std::int64_t width = rows_.empty() ? 0 : std::ssize(rows_.front().values);
  std::vector<std::byte> mine;
  append_bytes(mine, std::as_bytes(std::span(&width, 1)));
  for (const Row& row : rows_) {
    append_bytes(mine, std::as_bytes(std::span(&row.key, 1)));
    append_bytes(mine, std::as_bytes(std::span(row.values)));
  }
  rows_.clear();
  for (const std::vector<std::byte>& part : fabric::gather_all(ranks, mine)) {
    std::int64_t columns = 0;
    std::memcpy(&columns, part.data(), sizeof columns);
    Row row{0, std::vector<float>(static_cast<std::size_t>(columns))};
    const std::size_t row_bytes = row.values.size() * sizeof(float);
    for (std::size_t at = sizeof columns; at < part.size(); at += sizeof row.key + row_bytes) {
      std::memcpy(&row.key, part.data() + at, sizeof row.key);
      std::memcpy(row.values.data(), part.data() + at + sizeof row.key, row_bytes);
      offer(row.key, row.values);
    }
  }
}

std::vector<CandidateRows::Row> CandidateRows::best() const {
  std::vector<Row> sorted = rows_;
  std::ranges::stable_sort(sorted, std::ranges::greater{}, &Row::key);
  std::vector<Row> distinct;
  for (Row& row : sorted) {
    if (distinct.size() == capacity_) break;
    const bool is_known = std::ranges::find(distinct, row.values, &Row::values) != distinct.end();
    if (!is_known) distinct.push_back(std::move(row));
  }
  return distinct;
}

}  // namespace thinwire::train
