#include "thinwire/ops/nearest_codeword.hpp"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace thinwire::ops {
namespace {

/// With 1024 codewords the scores of as many rows are half a mebibyte: the argmax finds them in
/// the second-level cache, where the product left them.
constexpr Index kBlockRows = 128;
constexpr Index kFloatsPerLine = 16;  // a cache line, and the widest vector
/// Below some ten microseconds of work a second thread costs more than it saves.
constexpr Index kScoresWorthThreads = 32768;

/// Blocks of nearly equal size, so that at most two row counts need a primitive.
struct Blocks {
  Index count, rows;  // the last block may have fewer
  explicit Blocks(Index all_rows)
      : count((all_rows + kBlockRows - 1) / kBlockRows),
        rows(count == 0 ? 0 : (all_rows + count - 1) / count) {}
};

/// Floats for the scores of a block, so that what follows them is aligned as they are.
Index score_floats(Index rows, Index codewords) {
  return (rows * codewords + kFloatsPerLine - 1) / kFloatsPerLine * kFloatsPerLine;
}

double squared_norm(std::span<const float> row) {
  return std::transform_reduce(row.begin(), row.end(), 0.0, std::plus<>(),
                               [](float value) { return double{value} * value; });
}

/// The rows divided by their norms; a zero row stays zero.
Matrix<float> normalised(MatrixView<const float> codewords) {
  Matrix<float> unit(codewords.rows(), codewords.cols());
  copy(codewords, unit.view());
  for (Index k = 0; k < codewords.rows(); ++k) {
    const double norm = std::sqrt(squared_norm(codewords.row(k)));
    if (norm == 0) continue;
    for (float& value : unit.view().row(k)) value = static_cast<float>(value / norm);
  }
  return unit;
}

/// -|c|^2 / 2: with it the largest score belongs to the smallest distance.
std::vector<float> half_norms(MatrixView<const float> codewords) {
  std::vector<float> biases;
  biases.reserve(static_cast<std::size_t>(codewords.rows()));
  for (Index k = 0; k < codewords.rows(); ++k)
    biases.push_back(static_cast<float>(-0.5 * squared_norm(codewords.row(k))));
  return biases;
}

/// Where the first of the largest scores stands; 0 when all are NaN. Two passes over a row in the
/// first-level cache, both without branches: a running index would keep either from being vector
/// code.
std::int32_t argmax(const float* scores, std::int32_t columns) {
  float largest = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : largest)
  for (std::int32_t j = 0; j < columns; ++j) largest = scores[j] > largest ? scores[j] : largest;
  std::int32_t first = columns;
#pragma omp simd reduction(min : first)
  for (std::int32_t j = 0; j < columns; ++j) {
    const std::int32_t here = scores[j] == largest ? j : columns;
    first = here < first ? here : first;
  }
  return first < columns ? first : 0;
}

void argmax_rows(MatrixView<const float> scores, std::int32_t* indices, Index stride) {
  const auto columns = static_cast<std::int32_t>(scores.cols());
  if (scores.size() < kScoresWorthThreads || omp_get_max_threads() == 1) {
    for (Index row = 0; row < scores.rows(); ++row)
      indices[row * stride] = argmax(scores.row(row).data(), columns);
  } else {
#pragma omp parallel for schedule(static)
    for (Index row = 0; row < scores.rows(); ++row)
      indices[row * stride] = argmax(scores.row(row).data(), columns);
  }
}

}  // namespace

NearestCodeword::NearestCodeword(MatrixView<const float> codewords, Similarity similarity,
                                 std::span<const Index> levels, std::pmr::memory_resource* memory,
                                 Packing packing) {
  TW_REQUIRE(!levels.empty() && levels.front() >= 1 && levels.back() == codewords.rows() &&
                 std::ranges::adjacent_find(levels, std::greater_equal<>()) == levels.end(),
             "levels that do not ascend from 1 or more to {} codewords", codewords.rows());
  const bool is_squared = similarity == Similarity::squared;
  Matrix<float> unit;
  std::vector<float> biases(is_squared ? static_cast<std::size_t>(codewords.rows()) : 0);
  if (packing == Packing::write) {
    if (is_squared)
      biases = half_norms(codewords);
    else
      unit = normalised(codewords);
  }
  const MatrixView<const float> prepared = unit.rows() > 0 ? unit.view() : codewords;
  levels_.reserve(levels.size());
  for (const Index size : levels) {
    const std::span<const float> bias(biases.data(),
                                      is_squared ? static_cast<std::size_t>(size) : 0);
    levels_.emplace_back(prepared.rows(0, size), bias, Epilogue{}, memory, packing);
  }
}

Index NearestCodeword::width() const {
  return levels_.back().inputs();
}

Index NearestCodeword::codewords(int level) const {
  TW_REQUIRE(level >= 0 && level < levels(), "level {} of {}", level, levels());
  return levels_[static_cast<std::size_t>(level)].outputs();
}

Matrix<float> NearestCodeword::unpacked(int level) const {
  TW_REQUIRE(level >= 0 && level < levels(), "level {} of {}", level, levels());
  return levels_[static_cast<std::size_t>(level)].unpacked();
}

Index NearestCodeword::scratch_floats(Index rows, Index width, Index codewords) {
  const Index block = Blocks(rows).rows;
  return score_floats(block, codewords) + block * width;
}

void NearestCodeword::operator()(MatrixView<const float> x, int level, std::span<float> scratch,
                                 std::span<std::int32_t> indices, Index stride,
                                 Operations& counted) const {
  const Index rows = x.rows(), candidates = codewords(level);
  TW_REQUIRE(x.cols() == width(), "rows of {} for codewords of {}", x.cols(), width());
  TW_REQUIRE(std::ssize(scratch) >= scratch_floats(rows, width(), candidates),
             "{} floats of scratch for {} rows of {} and {} codewords", scratch.size(), rows,
             width(), candidates);
  TW_REQUIRE(stride >= 1 && (rows == 0 || std::ssize(indices) > (rows - 1) * stride),
             "room for {} indices, {} apart, for {} rows", indices.size(), stride, rows);
  const Linear& score = levels_[static_cast<std::size_t>(level)];
  const Blocks blocks(rows);
  float* const dense = scratch.data() + score_floats(blocks.rows, candidates);

  for (Index begin = 0; begin < rows; begin += blocks.rows) {
    MatrixView<const float> block = x.rows(begin, std::min(blocks.rows, rows - begin));
    const MatrixView<float> scores(scratch.data(), block.rows(), candidates);
    if (!block.is_dense()) {
      const MatrixView<float> copied(dense, block.rows(), block.cols());
      copy(block, copied);
      block = copied;
    }
    score(block, scores, counted);
    argmax_rows(scores, indices.data() + begin * stride, stride);
  }
}

}  // namespace thinwire::ops
