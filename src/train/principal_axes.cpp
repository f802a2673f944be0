#include "thinwire/train/principal_axes.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "thinwire/base/random.hpp"
#include "thinwire/ops/linear.hpp"
#include "thinwire/train/code_statistics.hpp"

namespace thinwire::train {
namespace {

// Axes of like variance need not be told apart: what counts is the subspace that they span.
constexpr int kIterations = 12;

Matrix<float> transposed(MatrixView<const float> x) {
  Matrix<float> out(x.cols(), x.rows());
  for (Index r = 0; r < x.rows(); ++r)
    for (Index c = 0; c < x.cols(); ++c) out(c, r) = x(r, c);
  return out;
}

/// a [n, k] times the transpose of b [m, k].
Matrix<float> product(MatrixView<const float> a, MatrixView<const float> b) {
  const ops::Linear multiply(b, {}, {}, std::pmr::new_delete_resource());
  Matrix<float> out(a.rows(), b.rows());
  Operations ignored;
  multiply(a, out.view(), ignored);
  return out;
}

/// transpose(X) X of all ranks' rows, [width, width].
Matrix<float> second_moment(MatrixView<const float> rows, fabric::Transport& ranks) {
  std::vector<double> sum(static_cast<std::size_t>(rows.cols() * rows.cols()));
  if (rows.rows() > 0) {
    const Matrix<float> columns = transposed(rows);
    const Matrix<float> mine = product(columns.view(), columns.view());
    std::ranges::copy(mine.view().elements(), sum.begin());
  }
  sum_over_ranks(ranks, sum);
  Matrix<float> moment(rows.cols(), rows.cols());
  std::ranges::transform(sum, moment.view().elements().begin(),
                         [](double value) { return static_cast<float>(value); });
  return moment;
}

double dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += double{a[i]} * double{b[i]};
  return sum;
}

/// Takes the part along the axes before off row `k`.
void remove_earlier(MatrixView<float> axes, Index k) {
  const std::span<float> row = axes.row(k);
  for (Index j = 0; j < k; ++j) {
    const std::span<float> earlier = axes.row(j);
    const double part = dot(row, earlier);
    for (std::size_t c = 0; c < row.size(); ++c) row[c] -= static_cast<float>(part * earlier[c]);
  }
}

/// Gram-Schmidt, twice each for the rounding. A row that the earlier ones span becomes a random
/// direction beside them: rows of lower rank than `axes` leave the rest open.
void orthonormalise(MatrixView<float> axes, const RandomStream& random) {
  constexpr double kNegligible = 1e-5;
  for (Index k = 0; k < axes.rows(); ++k) {
    const std::span<float> row = axes.row(k);
    const double before = std::sqrt(dot(row, row));
    remove_earlier(axes, k);
    if (std::sqrt(dot(row, row)) <= kNegligible * before) {
      random.fill_symmetric(row, 1, static_cast<std::uint64_t>(k * axes.cols()));
      remove_earlier(axes, k);
    }
    remove_earlier(axes, k);
    const double norm = std::sqrt(dot(row, row));
    for (float& value : row) value = static_cast<float>(value / norm);
  }
}

}  // namespace

Matrix<float> principal_axes(MatrixView<const float> rows, Index count, std::uint64_t seed,
                             fabric::Transport& ranks) {
  TW_REQUIRE(count >= 1 && count <= rows.cols(), "{} axes of rows with {} columns", count,
             rows.cols());
  const Matrix<float> moment = second_moment(rows, ranks);
  const RandomStream random("principal_axes", seed);
  Matrix<float> axes(count, rows.cols());
  random.fill_symmetric(axes.view().elements(), 1);
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    axes = product(std::as_const(axes).view(), moment.view());  // the moment is symmetric
    orthonormalise(axes.view(), random);
  }
  return axes;
}

Matrix<float> project(MatrixView<const float> rows, MatrixView<const float> axes) {
  return product(rows, axes);
}

Matrix<float> lift(MatrixView<const float> coordinates, MatrixView<const float> axes) {
  return product(coordinates, transposed(axes).view());
}

}  // namespace thinwire::train
