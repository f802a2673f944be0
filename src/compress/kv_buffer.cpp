#include "thinwire/compress/kv_buffer.hpp"

#include <algorithm>

#include "thinwire/tensor/half.hpp"

namespace thinwire::compress {
namespace {

/// Below some ten microseconds of widening a second thread costs more than it saves.
constexpr Index kFloatsWorthThreads = Index{1} << 15;

/// Codewords that are finished at once: enough for the products' full speed. The scratch of the
/// feed-forward layer stays small however large the codebook is, and so does that of its products,
/// which a rank keeps for every block: 140 KiB each for 1024 rows on two threads.
constexpr Index kBlockRows = 64;

Matrix<float> uninitialised(Index rows, Index cols) {
  return {rows, cols, std::pmr::new_delete_resource(), Matrix<float>::Fill::none};
}

}  // namespace

KvBuffer::KvBuffer(Index codewords, Index width, std::pmr::memory_resource* memory)
    : halves_(codewords, width, memory, Matrix<std::uint16_t>::Fill::none) {}

void KvBuffer::gather(std::span<const std::int32_t> indices, MatrixView<float> out) const {
  TW_REQUIRE(std::ssize(indices) == out.rows() && out.cols() == halves_.cols(),
             "{} indices for rows [{}, {}] from a buffer of width {}", indices.size(), out.rows(),
             out.cols(), halves_.cols());
#pragma omp parallel for schedule(static) if (out.size() >= kFloatsWorthThreads)
  for (Index row = 0; row < out.rows(); ++row) {
    const Index index = indices[static_cast<std::size_t>(row)];
    halves_to_floats(std::as_bytes(halves().row(index)), out.row(row));
  }
}

void finish_codewords(const model::Model& model, Index exchange, MatrixView<float> codewords,
                      Operations& counted) {
  if (exchange == 0) return;  // the embeddings: no block lies before them
  const Index rows = std::min(kBlockRows, codewords.rows());
  Matrix<float> normed = uninitialised(rows, codewords.cols());
  Matrix<float> ffn = uninitialised(rows, model.config().ffn);
  const model::Block& block = model.block(exchange - 1);
  for (Index begin = 0; begin < codewords.rows(); begin += rows) {
    const Index count = std::min(rows, codewords.rows() - begin);
    block.finish(codewords.rows(begin, count), normed.first(count), ffn.first(count), counted);
  }
}

Matrix<float> project_codewords(const model::Model& model, Index exchange,
                                MatrixView<const float> outputs, Operations& counted) {
  Matrix<float> normed = uninitialised(outputs.rows(), outputs.cols());
  Matrix<float> kv = uninitialised(outputs.rows(), 2 * outputs.cols());
  const model::Block& block = model.block(exchange);
  block.project_kv(block.kv_input(outputs, normed.view(), counted), kv.view(), counted);
  return kv;
}

}  // namespace thinwire::compress
