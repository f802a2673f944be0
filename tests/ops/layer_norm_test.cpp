#include "thinwire/ops/layer_norm.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "ops/matrices.hpp"
#include "thinwire/ops/runtime.hpp"

namespace thinwire::ops {
namespace {

using test::random_matrix;

std::pmr::memory_resource* heap() {
  return std::pmr::new_delete_resource();
}

double normalised(std::span<const float> row, Index at, double epsilon) {
  double mean = 0, variance = 0;
  for (const float x : row) mean += x;
  mean /= static_cast<double>(row.size());
  for (const float x : row) variance += (x - mean) * (x - mean);
  variance /= static_cast<double>(row.size());
  return (row[static_cast<std::size_t>(at)] - mean) / std::sqrt(variance + epsilon);
}

/// LayerNorm beside a plain loop in double precision.
void expect_equals_plain_loop(Index rows, Index cols, float offset) {
  SCOPED_TRACE(testing::Message() << rows << " rows, " << cols << " columns, offset " << offset);
  Matrix<float> x = random_matrix(rows, cols, "x");
  for (float& value : x.view().elements()) value += offset;
  const Matrix<float> weight = random_matrix(1, cols, "weight");
  const Matrix<float> bias = random_matrix(1, cols, "bias");
  const LayerNorm normalise(weight.view().row(0), bias.view().row(0), 1e-5F, heap());
  Matrix<float> y(rows, cols);
  Operations counted;

  normalise(x.view(), y.view(), counted);

  // The mean is rounded at the size of the offset; what remains is of size 1.
  const double tolerance = 16 * test::kFp32Epsilon * (4 + std::abs(double{offset}));
  for (Index r = 0; r < rows; ++r)
    for (Index c = 0; c < cols; ++c)
      ASSERT_NEAR(y(r, c), normalised(x.view().row(r), c, 1e-5) * weight(0, c) + bias(0, c),
                  tolerance);
  EXPECT_EQ(counted, (Operations{.layer_norm_elements = rows * cols}));
}

TEST(LayerNorm, EqualsAPlainLoop) {
  for (const Index rows : {0, 1, 2, 17, 98})
    for (const Index cols : {2, 7, 48, 65, 768}) expect_equals_plain_loop(rows, cols, 0.0F);
}

TEST(LayerNorm, KeepsTheVarianceOfRowsFarFromZero) {
  expect_equals_plain_loop(5, 97, 1000.0F);
}

TEST(LayerNorm, OfConstantRowsIsTheBias) {
  const std::vector<float> weight(5, 2.0F), bias{1, 2, 3, 4, 5};
  const LayerNorm normalise(weight, bias, 1e-12F, heap());
  Matrix<float> x(1, 5);
  for (float& value : x.view().elements()) value = 3.0F;
  Operations counted;

  normalise(x.view(), x.view(), counted);

  for (Index c = 0; c < 5; ++c) EXPECT_EQ(x(0, c), bias[static_cast<std::size_t>(c)]);
}

TEST(LayerNorm, InPlaceAndStridedGiveTheSame) {
  const Matrix<float> wide = random_matrix(9, 20, "wide");
  const std::vector<float> weight(7, 1.5F), bias(7, 0.5F);
  const LayerNorm normalise(weight, bias, 1e-6F, heap());
  Matrix<float> separate(9, 7), in_place = test::copy_of(wide.view().cols(3, 7));
  Operations counted;

  normalise(wide.view().cols(3, 7), separate.view(), counted);
  normalise(in_place.view(), in_place.view(), counted);

  EXPECT_TRUE(std::ranges::equal(separate.view().elements(), in_place.view().elements()));
}

TEST(LayerNorm, AttachTakesTheBytesThatAreThere) {
  alignas(64) std::array<std::byte, 1024> place{};
  std::pmr::monotonic_buffer_resource writer(place.data(), place.size());
  std::pmr::monotonic_buffer_resource attacher(place.data(), place.size());
  const std::vector<float> weight{2, 3}, bias{5, 7}, unread(2, NAN);
  const LayerNorm written(weight, bias, 0.0F, &writer);
  const LayerNorm attached(unread, unread, 0.0F, &attacher, Packing::attach);
  Matrix<float> x(1, 2), y(1, 2);
  x(0, 0) = -1;
  x(0, 1) = 1;
  Operations counted;

  attached(x.view(), y.view(), counted);

  EXPECT_FLOAT_EQ(y(0, 0), 5 - 2);
  EXPECT_FLOAT_EQ(y(0, 1), 7 + 3);
}

TEST(LayerNorm, RefusesShapesThatDoNotFit) {
  const std::vector<float> five(5, 1.0F), four(4, 1.0F);
  const LayerNorm normalise(five, five, 1e-6F, heap());
  Matrix<float> narrow(2, 4), right(2, 5);
  Operations counted;

  EXPECT_THROW(normalise(narrow.view(), narrow.view(), counted), Error);
  EXPECT_THROW(normalise(right.view(), right.first(1), counted), Error);
  EXPECT_THROW(LayerNorm(five, four, 1e-6F, heap()), Error);
}

}  // namespace
}  // namespace thinwire::ops
