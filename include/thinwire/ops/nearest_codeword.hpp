#pragma once
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include "thinwire/base/operations.hpp"
#include "thinwire/ops/linear.hpp"
#include "thinwire/tensor/matrix.hpp"

namespace thinwire::ops {

enum class Similarity {
  cosine,   ///< argmax x . c / |c|; a zero codeword scores 0
  squared,  ///< argmin |x - c|^2, computed as argmax x . c - |c|^2 / 2
};

/// Nearest codeword by one matrix product with the prepared codebook and an argmax (METHODS 3.2).
/// A level restricts the search to the first codewords; ties go to the lowest index.
class NearestCodeword {
 public:
  /// codewords [K, width]   levels: sizes ascending, the last is K; each has a packed copy of its
  /// codewords in `memory`. Packing as in Linear: `attach` reads shapes only.
  NearestCodeword(MatrixView<const float> codewords, Similarity similarity,
                  std::span<const Index> levels, std::pmr::memory_resource* memory,
                  Packing packing = Packing::write);

  Index width() const;
  int levels() const { return static_cast<int>(levels_.size()); }
  Index codewords(int level) const;
  /// The codewords of a level [codewords(level), width] as they are searched: of unit length with
  /// Similarity::cosine, else bit for bit as given. Unpacked for set-up, not for a pass.
  Matrix<float> unpacked(int level) const;

  /// Floats of scratch for a search of `rows` rows of `width` among `codewords`: the scores of a
  /// block of rows, and a dense copy of it for rows that are columns of wider ones.
  static Index scratch_floats(Index rows, Index width, Index codewords);

  /// x [rows, width], any stride   scratch: at least scratch_floats(rows, width, codewords(level))
  /// indices [rows], indices[i * stride] gets row i's.
  /// Adds rows * width * codewords(level) multiply-accumulates to `counted` (and, for squared
  /// distance, the bias of every score). Uses omp_get_max_threads() threads.
  void operator()(MatrixView<const float> x, int level, std::span<float> scratch,
                  std::span<std::int32_t> indices, Index stride, Operations& counted) const;

 private:
  std::vector<Linear> levels_;
};

}  // namespace thinwire::ops
