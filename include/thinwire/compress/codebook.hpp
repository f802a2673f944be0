#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "thinwire/compress/index_coding.hpp"
#include "thinwire/model/embedding.hpp"
#include "thinwire/ops/nearest_codeword.hpp"
#include "thinwire/tensor/matrix.hpp"

namespace thinwire::compress {

/// What is kept of the codewords beside the prepared search.
enum class Dequantise { no, yes };

/// The codebook of one exchange: G groups of K codewords of D / G values, in the order of the
/// positions that are sent.
class Codebook {
 public:
  /// groups: G matrices [K, D / G]; with Packing::attach only their shapes are read.
  Codebook(std::span<const Matrix<float>> groups, ops::Similarity similarity,
           std::span<const Index> levels, Dequantise dequantise, model::WeightPlace place);

  Index groups() const { return static_cast<Index>(searches_.size()); }
  Index codewords() const;
  Index hidden() const;

  /// Floats of scratch that nearest() needs for `rows` rows on `level`.
  Index scratch_floats(Index rows, int level) const;
  /// x [n, D] -> indices [n * G], a row's groups in order.
  void nearest(MatrixView<const float> x, int level, std::span<float> scratch,
               std::span<std::int32_t> indices, Operations& counted) const;
  /// What nearest() says of every codeword of a level of `before`, a codebook of the same groups:
  /// indices [codewords of that level * G]. Both are taken from their searches, so that it needs no
  /// Dequantise and finds the same with and without. Set-up: it unpacks those of `before`.
  void nearest_to(const Codebook& before, int level, std::span<std::int32_t> indices) const;
  /// indices [n * G] -> rows [n, D]: the codewords. Needs Dequantise::yes.
  void lookup(std::span<const std::int32_t> indices, MatrixView<float> rows) const;

 private:
  std::vector<ops::NearestCodeword> searches_;  // one a group
  std::vector<Matrix<float>> tables_;           // [K, D / G] a group, or empty
};

}  // namespace thinwire::compress
