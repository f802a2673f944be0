#include "thinwire/model/block_share.hpp"

#include <array>
#include <vector>

namespace thinwire::model {
namespace {

std::span<const float> part_of(std::span<const float> bias, Slice slice) {
  if (bias.empty()) return bias;
  return bias.subspan(static_cast<std::size_t>(slice.begin), static_cast<std::size_t>(slice.size));
}

/// Some outputs of a product, with their biases and its activation.
ops::Linear outputs_of(const ops::Linear& product, Slice outputs,
                       std::pmr::memory_resource* memory) {
  const Matrix<float> weight = product.unpacked();
  return {weight.view().rows(outputs.begin, outputs.size),
          part_of(product.bias(), outputs),
          product.epilogue(),
          memory,
          ops::Packing::write,
          product.dtype()};
}

/// The same columns of K and of V, which lie one behind the other among the outputs.
ops::Linear kv_outputs_of(const ops::Linear& kv, Slice columns, std::pmr::memory_resource* memory) {
  const Matrix<float> whole = kv.unpacked();
  Matrix<float> weight(2 * columns.size, kv.inputs());
  std::vector<float> bias;
  const std::array parts = {columns, Slice{kv.outputs() / 2 + columns.begin, columns.size}};
  for (Index half = 0; half < 2; ++half) {
    const Slice part = parts[static_cast<std::size_t>(half)];
    copy<float>(whole.view().rows(part.begin, part.size),
                weight.view().rows(half * columns.size, columns.size));
    const std::span<const float> biases = part_of(kv.bias(), part);
    bias.insert(bias.end(), biases.begin(), biases.end());
  }
  return {weight.view(), bias, kv.epilogue(), memory, ops::Packing::write, kv.dtype()};
}

/// A product over some of its inputs: a partial sum, to which bias and residual do not belong.
ops::Linear inputs_of(const ops::Linear& product, Slice inputs, std::pmr::memory_resource* memory) {
  const Matrix<float> weight = product.unpacked();
  return {weight.view().cols(inputs.begin, inputs.size),
          {},
          {},
          memory,
          ops::Packing::write,
          product.dtype()};
}

Slice columns_of(const ModelConfig& config, Slice heads) {
  return {heads.begin * config.head_dim(), heads.size * config.head_dim()};
}

}  // namespace

BlockShare::BlockShare(const Block& block, const ModelConfig& config, Slice heads,
                       Slice ffn_columns, std::pmr::memory_resource* memory)
    : query_(outputs_of(block.query_, columns_of(config, heads), memory)),
      kv_(kv_outputs_of(block.kv_, columns_of(config, heads), memory)),
      output_(inputs_of(block.output_, columns_of(config, heads), memory)),
      up_(outputs_of(block.up_, ffn_columns, memory)),
      down_(inputs_of(block.down_, ffn_columns, memory)) {}

Index BlockShare::width() const {
  return query_.outputs();
}
Index BlockShare::ffn_columns() const {
  return up_.outputs();
}

void BlockShare::project_query(MatrixView<const float> rows, MatrixView<float> query,
                               Operations& counted) const {
  query_(rows, query, counted);
}

void BlockShare::project_kv(MatrixView<const float> rows, MatrixView<float> kv,
                            Operations& counted) const {
  kv_(rows, kv, counted);
}

void BlockShare::attention_output(MatrixView<const float> attended, MatrixView<float> partial,
                                  Operations& counted) const {
  output_(attended, partial, counted);
}

void BlockShare::feed_forward(MatrixView<const float> rows, MatrixView<float> ffn,
                              MatrixView<float> partial, Operations& counted) const {
  up_(rows, ffn, counted);
  down_(ffn, partial, counted);
}

}  // namespace thinwire::model
