#pragma once
#include <cstdint>
#include <memory_resource>
#include <span>

#include "thinwire/model/model.hpp"
#include "thinwire/tensor/matrix.hpp"

namespace thinwire::compress {

/// What a receiver has precomputed for every codeword of one exchange, in fp16, rows in the order
/// of the positions that are sent:
///   Buffers::kv      [K, 2D] K|V of block e          Buffers::hidden  [K, D] output of block e - 1
class KvBuffer {
 public:
  KvBuffer(Index codewords, Index width, std::pmr::memory_resource* memory);

  MatrixView<std::uint16_t> halves() { return halves_.view(); }
  MatrixView<const std::uint16_t> halves() const { return halves_.view(); }
  /// Row i of `out` [n, width] becomes buffer row indices[i], widened. Vectorised, threaded.
  void gather(std::span<const std::int32_t> indices, MatrixView<float> out) const;

 private:
  Matrix<std::uint16_t> halves_;
};

/// Output of block `exchange` - 1 for every codeword: finish(exchange - 1, C); C itself for
/// exchange 0.   codewords [K, D], overwritten
void finish_codewords(const model::Model& model, Index exchange, MatrixView<float> codewords,
                      Operations& counted);
/// K|V [K, 2D] of block `exchange` from those outputs.
Matrix<float> project_codewords(const model::Model& model, Index exchange,
                                MatrixView<const float> outputs, Operations& counted);

}  // namespace thinwire::compress
