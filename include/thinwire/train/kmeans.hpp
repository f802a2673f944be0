#pragma once
#include <cstdint>
#include <string>

#include "thinwire/ops/nearest_codeword.hpp"
#include "thinwire/train/code_statistics.hpp"

namespace thinwire::train {

struct KMeansOptions {
  Index codewords = 2;  ///< K
  ops::Similarity similarity = ops::Similarity::cosine;
  int iterations = 10;  ///< Lloyd's
  std::uint64_t seed = 0;
  std::string stream = "kmeans";  ///< names the random numbers, one name a codebook
};

/// A codebook and the statistics that it is the mean of.
struct Clusters {
  Matrix<float> codewords;    ///< [K, width]
  CodeStatistics statistics;  ///< of the last assignment; a re-seeded codeword counts its one row
};

/// How far `row` is from `codeword`: 1 - cosine (0 for a zero row), or the squared distance.
double distance(std::span<const float> row, std::span<const float> codeword,
                ops::Similarity similarity);

/// k-means++ seeding: each next codeword is a row drawn in proportion to its distance() from those
/// that are there.   rows [n, width]: this rank's
/// Collective over `ranks`; every rank gets the same codewords [K, width].
Matrix<float> seed_codewords(MatrixView<const float> rows, const KMeansOptions& options,
                             fabric::Transport& ranks);

/// Seeding, then Lloyd iterations: rows go to the nearest codeword, codewords become the means of
/// their rows, and those without rows become the worst-coded rows.
///   rows [n, width]: this rank's part, any stride
/// Collective; the result is the same on all ranks, and depends on seed and number of ranks alone.
/// Throws Error unless all ranks together have at least K rows.
/// Source: METHODS 3.4; TRACE, section IV.
Clusters kmeans(MatrixView<const float> rows, const KMeansOptions& options,
                fabric::Transport& ranks);

}  // namespace thinwire::train
