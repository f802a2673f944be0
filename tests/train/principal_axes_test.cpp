#include "thinwire/train/principal_axes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/golden.hpp"
#include "support/local_run.hpp"
#include "thinwire/base/random.hpp"

namespace thinwire::train {
namespace {

/// Rows of the span of `rank` random directions.
Matrix<float> rows_of_rank(Index rows, Index width, Index rank) {
  Matrix<float> directions(rank, width), coordinates(rows, rank), out(rows, width);
  RandomStream("directions", 1).fill_symmetric(directions.view().elements(), 1);
  RandomStream("coordinates", 1).fill_symmetric(coordinates.view().elements(), 1);
  for (Index r = 0; r < rows; ++r)
    for (Index c = 0; c < width; ++c)
      for (Index k = 0; k < rank; ++k) out(r, c) += coordinates(r, k) * directions(k, c);
  return out;
}

Matrix<float> axes_alone(const Matrix<float>& rows, Index count) {
  const auto solo = fabric::make_solo_transport();
  return principal_axes(rows.view(), count, 5, *solo);
}

TEST(PrincipalAxes, LiftBackWhatLiesInTheSubspace) {
  for (const Index count : {3, 5, 11}) {  // 5: the rank itself
    const Matrix<float> rows = rows_of_rank(61, 11, std::min<Index>(count, 5));

    const Matrix<float> axes = axes_alone(rows, count);
    const Matrix<float> lifted = lift(project(rows.view(), axes.view()).view(), axes.view());

    EXPECT_LT(test::relative_difference(lifted.view(), rows.view()), 2e-6) << count;
  }
}

TEST(PrincipalAxes, AreOrthonormal) {
  const Matrix<float> rows = rows_of_rank(61, 11, 3);

  const Matrix<float> axes = axes_alone(rows, 6);  // three are left open by the rows

  for (Index a = 0; a < 6; ++a)
    for (Index b = 0; b < 6; ++b) {
      double product = 0;
      for (Index c = 0; c < 11; ++c) product += double{axes(a, c)} * double{axes(b, c)};
      EXPECT_NEAR(product, a == b ? 1 : 0, 1e-5) << a << ", " << b;
    }
}

TEST(PrincipalAxes, TakeTheDirectionsOfGreatestLength) {
  Matrix<float> rows(40, 7);
  RandomStream("rows", 2).fill_symmetric(rows.view().elements(), 0.1F);
  for (Index r = 0; r < 40; ++r) rows(r, r % 2 == 0 ? 2 : 4) += 30;

  const Matrix<float> axes = axes_alone(rows, 2);

  for (Index a = 0; a < 2; ++a) EXPECT_NEAR(std::hypot(axes(a, 2), axes(a, 4)), 1, 1e-3);
}

TEST(PrincipalAxes, RanksShareTheRows) {
  const Matrix<float> rows = rows_of_rank(60, 9, 4);
  const Matrix<float> alone = axes_alone(rows, 4);
  std::vector<Matrix<float>> axes(2);
  test::on_devices(2, [&](fabric::Transport& ranks) {
    axes[static_cast<std::size_t>(ranks.rank())] =
        principal_axes(rows.view().rows(30 * ranks.rank(), 30), 4, 5, ranks);
  });

  EXPECT_TRUE(std::ranges::equal(axes[0].view().elements(), axes[1].view().elements()));
  EXPECT_LT(test::relative_difference(axes[0].view(), alone.view()), 1e-4);
}

}  // namespace
}  // namespace thinwire::train
