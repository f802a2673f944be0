#pragma once
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>

#include "thinwire/model/model_input.hpp"
#include "thinwire/tensor/matrix.hpp"
#include "thinwire/tensor/safetensors.hpp"

namespace thinwire::test {

inline const std::filesystem::path kGoldenFolder =
    std::filesystem::path(THINWIRE_TEST_DATA) / "golden";

inline SafetensorsFile open_golden(const std::string& model) {
  return SafetensorsFile(kGoldenFolder / (model + ".safetensors"));
}

/// The tensor as a matrix: all but the last dimension are rows.
inline Matrix<float> golden_matrix(const SafetensorsFile& file, const std::string& name) {
  const TensorView& tensor = file.at(name);
  const Index cols = tensor.shape.back();
  Matrix<float> matrix(tensor.elements() / cols, cols);
  widen(tensor, 0, matrix.view().elements());
  return matrix;
}

/// The input that a golden run names ("input" or "padded.input"), with its attention mask.
inline model::ModelInput golden_input(const SafetensorsFile& file, const std::string& name) {
  model::ModelInput input;
  if (file.at(name).type == ElementType::f32)
    input.pixels = file.floats(name);
  else
    input.ids = file.integers(name);
  if (name == "padded.input")
    for (const std::int32_t mask : file.integers("padded.attention_mask"))
      input.real.push_back(static_cast<std::uint8_t>(mask));
  return input;
}

/// max |ours - golden| / max |golden|: the measure of the golden files' tolerances.
inline double relative_difference(MatrixView<const float> ours, MatrixView<const float> golden) {
  TW_REQUIRE(ours.rows() == golden.rows() && ours.cols() == golden.cols(),
             "[{}, {}] beside [{}, {}]", ours.rows(), ours.cols(), golden.rows(), golden.cols());
  double difference = 0, largest = 0;
  for (Index r = 0; r < ours.rows(); ++r)
    for (Index c = 0; c < ours.cols(); ++c) {
      const double d = std::abs(double{ours(r, c)} - double{golden(r, c)});
      difference = std::isfinite(d) ? std::max(difference, d) : HUGE_VAL;
      largest = std::max(largest, std::abs(double{golden(r, c)}));
    }
  return difference / largest;
}

}  // namespace thinwire::test
