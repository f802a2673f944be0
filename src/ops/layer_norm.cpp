#include "thinwire/ops/layer_norm.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>

namespace thinwire::ops {
namespace {

/// Below some ten microseconds of work a second thread costs more than it saves.
constexpr Index kElementsWorthThreads = 32768;

float mean_of(const float* x, Index cols) {
  float sum = 0.0F;
#pragma omp simd reduction(+ : sum)
  for (Index c = 0; c < cols; ++c) sum += x[c];
  return sum / static_cast<float>(cols);
}

/// In a pass of its own: the difference of mean square and squared mean cancels.
float variance_of(const float* x, Index cols, float mean) {
  float sum = 0.0F;
#pragma omp simd reduction(+ : sum)
  for (Index c = 0; c < cols; ++c) sum += (x[c] - mean) * (x[c] - mean);
  return sum / static_cast<float>(cols);
}

}  // namespace

LayerNorm::LayerNorm(std::span<const float> weight, std::span<const float> bias, float epsilon,
                     std::pmr::memory_resource* memory, Packing packing)
    : weight_(1, std::ssize(weight), memory, Matrix<float>::Fill::none),
      bias_(1, std::ssize(bias), memory, Matrix<float>::Fill::none),
      epsilon_(epsilon) {
  TW_REQUIRE(!weight.empty() && weight.size() == bias.size(), "{} weights and {} biases",
             weight.size(), bias.size());
  if (packing == Packing::attach) return;
  std::ranges::copy(weight, weight_.view().data());
  std::ranges::copy(bias, bias_.view().data());
}

void LayerNorm::operator()(MatrixView<const float> x, MatrixView<float> y,
                           Operations& counted) const {
  const Index rows = x.rows(), cols = weight_.cols();
  TW_REQUIRE(x.cols() == cols && y.cols() == cols && y.rows() == rows,
             "x [{}, {}] and y [{}, {}] for {} weights", rows, x.cols(), y.rows(), y.cols(), cols);
  const float* weight = weight_.view().data();
  const float* bias = bias_.view().data();
  const auto normalise = [=, epsilon = epsilon_](Index row) {
    const float* in = x.data() + row * x.stride();
    float* out = y.data() + row * y.stride();
    const float mean = mean_of(in, cols);
    const float factor = 1.0F / std::sqrt(variance_of(in, cols, mean) + epsilon);
#pragma omp simd  // in and out are the same row or different ones, never shifted
    for (Index c = 0; c < cols; ++c) out[c] = (in[c] - mean) * factor * weight[c] + bias[c];
  };

  if (rows * cols < kElementsWorthThreads || omp_get_max_threads() == 1) {
    for (Index row = 0; row < rows; ++row) normalise(row);
  } else {
#pragma omp parallel for schedule(static)
    for (Index row = 0; row < rows; ++row) normalise(row);
  }
  counted.layer_norm_elements += rows * cols;
}

}  // namespace thinwire::ops
