#include "panel_product.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "gelu.hpp"
#include "ops/linear_reference.hpp"
#include "thinwire/ops/linear.hpp"
#include "thinwire/ops/runtime.hpp"

namespace thinwire::ops {
namespace {

using test::random_matrix;

Matrix<float> product(const Linear& linear, MatrixView<const float> x) {
  Matrix<float> y(x.rows(), linear.outputs());
  Operations counted;
  linear(x, y.view(), counted);
  return y;
}

TEST(PanelProduct, ARowHasTheSameBitsWhateverStandsBesideIt) {
  constexpr Index kRows = 53;
  for (const Index outputs : {7, 64, 131}) {
    const Matrix<float> weight = random_matrix(outputs, 300, "weight");
    const Matrix<float> bias = random_matrix(1, outputs, "bias"),
                        x = random_matrix(kRows, 300, "x");
    const Linear linear(weight.view(), bias.view().row(0), {Activation::gelu_erf},
                        std::pmr::new_delete_resource());
    const Matrix<float> whole = product(linear, x.view());
    for (const Index first : {0, 1, 20, 52})
      for (const Index count : {1, 2, 3, 5, 8, 9, 13, 33}) {
        if (first + count > kRows) continue;
        const Matrix<float> part = product(linear, x.view().rows(first, count));
        for (Index r = 0; r < count; ++r)
          ASSERT_TRUE(std::ranges::equal(part.view().row(r), whole.view().row(first + r)))
              << "row " << first + r << " of " << count << " rows, " << outputs << " outputs";
      }
  }
}

TEST(PanelProduct, ThreadsDoNotChangeABit) {
  const int before = threads();
  for (const Index outputs : {20, 700}) {
    const Matrix<float> weight = random_matrix(outputs, 512, "weight");
    const Matrix<float> x = random_matrix(101, 512, "x");
    const Linear linear(weight.view(), {}, {}, std::pmr::new_delete_resource());
    set_threads(1);
    const Matrix<float> alone = product(linear, x.view());
    for (const int count : {2, 3, 5}) {
      set_threads(count);
      const Matrix<float> together = product(linear, x.view());
      EXPECT_TRUE(std::ranges::equal(together.view().elements(), alone.view().elements()))
          << count << " threads, " << outputs << " outputs";
    }
  }
  set_threads(before);
}

TEST(PanelProduct, WritesNothingBehindTheLastOutput) {
  constexpr Index kOutputs = kTileColumns + 3;
  const Matrix<float> weight = random_matrix(kOutputs, 9, "weight"), x = random_matrix(4, 9, "x");
  const Linear linear(weight.view(), {}, {}, std::pmr::new_delete_resource());
  std::vector<float> y(4 * kOutputs + 1, 42.0F);
  Operations counted;

  linear(x.view(), {y.data(), 4, kOutputs}, counted);

  EXPECT_EQ(y.back(), 42.0F);
}

template <Activation activation>
double largest_error() {
  double largest = 0;
  for (Index i = -400000; i <= 400000; i += kVectorFloats) {
    std::vector<float> x, y(kVectorFloats);
    for (Index lane = 0; lane < kVectorFloats; ++lane)
      x.push_back(static_cast<float>(i + lane) * 2e-5F);
    store(y.data(), activated<activation>(load(x.data())));
    for (std::size_t lane = 0; lane < x.size(); ++lane) {
      const double error = std::abs(y[lane] - test::activate(x[lane], activation));
      largest = std::max(largest, error / std::max(1.0F, std::abs(x[lane])));
    }
  }
  return largest;
}

TEST(Gelu, IsWithinTwoUnitsOfTheLastPlace) {
  EXPECT_LT(largest_error<Activation::gelu_erf>(), 2.4e-7);   // 2^-22 is 2.38e-7
  EXPECT_LT(largest_error<Activation::gelu_tanh>(), 2.4e-7);  // 2^-22 is 2.38e-7
}

TEST(Gelu, KeepsInfinitiesAndNan) {
  std::vector<float> x(kVectorFloats, NAN), y(kVectorFloats);
  x[0] = INFINITY;
  x[1] = -INFINITY;
  x[2] = 3e38F;
  x[3] = -3e38F;

  store(y.data(), activated<Activation::gelu_erf>(load(x.data())));

  EXPECT_EQ(y[0], INFINITY);
  EXPECT_EQ(y[1], 0.0F);
  EXPECT_EQ(y[2], 3e38F);
  EXPECT_EQ(y[3], 0.0F);
  if (kVectorFloats > 4) {
    EXPECT_TRUE(std::isnan(y.back()));
  }
}

}  // namespace
}  // namespace thinwire::ops
