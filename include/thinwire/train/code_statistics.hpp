#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "thinwire/fabric/transport.hpp"
#include "thinwire/tensor/matrix.hpp"

namespace thinwire::train {

/// Adds the ranks' values element by element, in rank order, so that every rank holds the same
/// bits. Collective.
void sum_over_ranks(fabric::Transport& ranks, std::span<double> values);

/// What rows say about the codebook that coded them: hits |S_k| and sums of every codeword.
struct CodeStatistics {
  CodeStatistics() = default;
  CodeStatistics(Index codewords, Index width);

  void add(std::span<const float> row, Index code);
  CodeStatistics& operator+=(const CodeStatistics& other);
  /// Of all ranks together. Collective.
  void reduce(fabric::Transport& ranks);

  std::vector<double> counts;  ///< [K]
  Matrix<double> sums;         ///< [K, width]
};

}  // namespace thinwire::train
