#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <span>

#include "thinwire/tensor/matrix.hpp"

namespace thinwire::strategy {

/// What became of the rows that peers have published, on a link that drops packets: which were lost
/// in the exchange under way, and which of their columns attention must not see. Rows are in the
/// order of an exchange's columns. Takes its memory when it is first used.
class LostRows {
 public:
  explicit LostRows(std::pmr::memory_resource* memory) : memory_(memory) {}

  /// An exchange of `rows` rows has arrived, all of them so far; room for `capacity`.
  void begin(Index rows, Index capacity) {
    if (lost_.cols() < capacity) {
      lost_ = Matrix<std::uint8_t>(1, capacity, memory_);
      log_counts_ = Matrix<float>(1, capacity, memory_);
    }
    rows_ = rows;
    count_ = 0;
    std::ranges::fill(lost_.view().row(0), kArrived);
  }
  void lose(Index row) {
    if (is_lost(row)) return;
    lost_(0, row) |= kLost;
    ++count_;
  }
  /// Attention does not see the row, whether it was lost or nothing is known of it.
  void hide(Index row) { lost_(0, row) |= kHidden; }

  bool is_lost(Index row) const { return (lost_(0, row) & kLost) != 0; }
  Index count() const { return count_; }
  Index rows() const { return rows_; }
  /// `whole` [rows], with -infinity for the rows that are hidden. Valid until begin().
  std::span<const float> log_counts(std::span<const float> whole) {
    const std::span<float> mine = log_counts_.view().row(0).first(whole.size());
    for (std::size_t row = 0; row < whole.size(); ++row)
      mine[row] = (lost_(0, static_cast<Index>(row)) & kHidden) != 0
                      ? -std::numeric_limits<float>::infinity()
                      : whole[row];
    return mine;
  }

 private:
  static constexpr std::uint8_t kArrived = 0, kLost = 1, kHidden = 2;

  std::pmr::memory_resource* memory_;
  Matrix<std::uint8_t> lost_;  // [1, capacity] flags
  Matrix<float> log_counts_;   // [1, capacity]
  Index rows_ = 0, count_ = 0;
};

}  // namespace thinwire::strategy
