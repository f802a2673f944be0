#include "weight_reader.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

namespace thinwire::model {
namespace {

Index product(std::span<const Index> shape) {
  return std::accumulate(shape.begin(), shape.end(), Index{1}, std::multiplies<>());
}

/// Shapes without contents, for ranks that attach.
MatrixView<const float> shape_only(Index rows, Index cols) {
  return {nullptr, rows, cols};
}
std::span<const float> shape_only(Index size) {
  return {static_cast<const float*>(nullptr), static_cast<std::size_t>(size)};
}

/// to[c, r] = from[r, c], in tiles that stay in cache.
void transpose(MatrixView<const float> from, MatrixView<float> to) {
  constexpr Index kTile = 32;
#pragma omp parallel for schedule(static)
  for (Index c0 = 0; c0 < from.cols(); c0 += kTile)
    for (Index r0 = 0; r0 < from.rows(); r0 += kTile)
      for (Index c = c0; c < std::min(c0 + kTile, from.cols()); ++c)
        for (Index r = r0; r < std::min(r0 + kTile, from.rows()); ++r) to(c, r) = from(r, c);
}

}  // namespace

ops::Linear WeightReader::make(MatrixView<const float> weight, std::span<const float> bias,
                               ops::Epilogue epilogue) const {
  return {weight, bias, epilogue, place_.memory, place_.packing, place_.dtype};
}

Matrix<float> WeightReader::table(const std::string& full_name, std::span<const Index> shape) {
  // First the values: a shape that the file does not have is refused before room is made for it.
  std::span<const float> values;
  if (!attaches()) values = source_.values(full_name, shape, weight_scratch_);
  const Index cols = shape.back();
  Matrix<float> table(product(shape) / cols, cols, place_.memory, Matrix<float>::Fill::none);
  std::ranges::copy(values, table.view().data());
  return table;
}

ops::LayerNorm WeightReader::layer_norm(const std::string& name, Index cols, float epsilon) {
  if (attaches())
    return {shape_only(cols), shape_only(cols), epsilon, place_.memory, place_.packing};
  const std::array shape = {cols};
  const auto weight = source_.values(name + ".weight", shape, weight_scratch_);
  const auto bias = source_.values(name + ".bias", shape, bias_scratch_);
  return {weight, bias, epsilon, place_.memory, place_.packing};
}

ops::Linear WeightReader::linear(const std::string& name, std::span<const Index> shape,
                                 ops::Epilogue epilogue, HasBias has_bias) {
  const Index outputs = shape.front();
  const Index inputs = product(shape) / outputs;
  if (attaches())
    return make(shape_only(outputs, inputs), shape_only(has_bias == HasBias::yes ? outputs : 0),
                epilogue);
  const auto weight = source_.values(name + ".weight", shape, weight_scratch_);
  std::span<const float> bias;
  if (has_bias == HasBias::yes)
    bias = source_.values(name + ".bias", std::array{outputs}, bias_scratch_);
  return make({weight.data(), outputs, inputs}, bias, epilogue);
}

ops::Linear WeightReader::stacked(std::span<const std::string> names, Index outputs, Index inputs,
                                  HasBias has_bias) {
  const Index rows = outputs * std::ssize(names);
  const Index biases = has_bias == HasBias::yes ? rows : 0;
  if (attaches()) return make(shape_only(rows, inputs), shape_only(biases), {});
  std::vector<float> weight, bias;
  weight.reserve(static_cast<std::size_t>(rows * inputs));
  bias.reserve(static_cast<std::size_t>(biases));
  for (const std::string& name : names) {
    const auto values =
        source_.values(name + ".weight", std::array{outputs, inputs}, weight_scratch_);
    weight.insert(weight.end(), values.begin(), values.end());
    if (has_bias == HasBias::no) continue;
    const auto part = source_.values(name + ".bias", std::array{outputs}, bias_scratch_);
    bias.insert(bias.end(), part.begin(), part.end());
  }
  return make({weight.data(), rows, inputs}, bias, {});
}

ops::Linear WeightReader::conv1d(const std::string& name, Index inputs, Index outputs,
                                 Slice columns, ops::Epilogue epilogue) {
  if (attaches()) return make(shape_only(columns.size, inputs), shape_only(columns.size), epilogue);
  const auto stored =
      source_.values(name + ".weight", std::array{inputs, outputs}, weight_scratch_);
  const auto bias = source_.values(name + ".bias", std::array{outputs}, bias_scratch_);
  Matrix<float> weight(columns.size, inputs, std::pmr::new_delete_resource(),
                       Matrix<float>::Fill::none);
  transpose(
      MatrixView<const float>(stored.data(), inputs, outputs).cols(columns.begin, columns.size),
      weight.view());
  return make(
      weight.view(),
      bias.subspan(static_cast<std::size_t>(columns.begin), static_cast<std::size_t>(columns.size)),
      epilogue);
}

ops::Linear WeightReader::tied(MatrixView<const float> table) {
  return make(table, {}, {});
}

}  // namespace thinwire::model
