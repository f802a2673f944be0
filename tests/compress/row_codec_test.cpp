#include "thinwire/compress/row_codec.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "support/messages.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/base/random.hpp"
#include "thinwire/tensor/half.hpp"
#include "thinwire/tensor/matrix.hpp"

namespace thinwire::compress {
namespace {

constexpr RowFormat kFormats[] = {RowFormat::fp32, RowFormat::fp16, RowFormat::bf16,
                                  RowFormat::int8};
constexpr float kInfinite = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
/// In fp32 a scale is rounded, and so are its inverse, a product with it and the product back: each
/// by 2^-24 of at most 127 scales.
constexpr double kFp32Rounding = 4 * 127 * 0x1p-24;

/// Rows of very different magnitudes, as those of activations with outliers.
Matrix<float> random_rows(Index rows, Index cols, std::uint64_t seed) {
  Matrix<float> matrix(rows, cols);
  RandomStream("row_codec_test", seed).fill_symmetric(matrix.view().elements(), 1.0F);
  for (Index row = 0; row < rows; ++row)
    for (float& value : matrix.view().row(row))
      value *= std::ldexp(1.0F, static_cast<int>(row % 7) * 3 - 9);
  return matrix;
}

std::vector<std::byte> encode(MatrixView<const float> rows, RowFormat format) {
  std::vector<std::byte> bytes(
      static_cast<std::size_t>(rows.rows() * row_bytes(format, rows.cols())));
  encode_rows(rows, format, bytes);
  return bytes;
}

Matrix<float> there_and_back(MatrixView<const float> rows, RowFormat format) {
  Matrix<float> arrived(rows.rows(), rows.cols());
  decode_rows(encode(rows, format), format, arrived.view());
  return arrived;
}

/// One row through a format.
std::vector<float> row_through(std::vector<float> row, RowFormat format) {
  const Matrix<float> arrived =
      there_and_back({row.data(), 1, static_cast<Index>(row.size())}, format);
  const auto values = arrived.view().elements();
  return {values.begin(), values.end()};
}

float largest_of(std::span<const float> row) {
  float largest = 0;
  for (const float value : row) largest = std::max(largest, std::abs(value));
  return largest;
}

TEST(RowFormat, KnowsItsBytes) {
  EXPECT_EQ(row_bytes(RowFormat::fp32, 768), 3072);
  EXPECT_EQ(row_bytes(RowFormat::fp16, 768), 1536);
  EXPECT_EQ(row_bytes(RowFormat::bf16, 768), 1536);
  EXPECT_EQ(row_bytes(RowFormat::int8, 768), 768 + 4);  // the scale
}

TEST(RowFormat, IsReadBackFromItsName) {
  for (const RowFormat format : kFormats) EXPECT_EQ(parse_row_format(to_string(format)), format);
  EXPECT_TRUE(test::mentions(test::message_of([] { parse_row_format("int4"); }),
                             {"payload=int4", "fp32", "fp16", "bf16", "int8"}));
}

TEST(RowCodec, ErrorsAreWithinHalfAUnitOfTheFormat) {
  for (const Index cols : {1, 2, 3, 15, 16, 17, 63, 128, 387, 768})
    for (const RowFormat format : kFormats) {
      SCOPED_TRACE(testing::Message() << "cols=" << cols << " " << to_string(format));
      const Matrix<float> rows = random_rows(9, cols, 42);

      const Matrix<float> arrived = there_and_back(rows.view(), format);

      for (Index row = 0; row < rows.rows(); ++row) {
        const double scale = largest_of(rows.view().row(row)) / 127.0;
        for (Index col = 0; col < cols; ++col) {
          const double x = rows(row, col), error = std::abs(x - arrived(row, col));
          switch (format) {
            case RowFormat::fp32:
              ASSERT_EQ(error, 0);
              break;
            case RowFormat::fp16:
              ASSERT_LE(error, std::max(std::abs(x) * 0x1p-11, 0x1p-25));  // half a subnormal's
              break;
            case RowFormat::bf16:
              ASSERT_LE(error, std::abs(x) * 0x1p-8);
              break;
            case RowFormat::int8:
              ASSERT_LE(error, scale * (0.5 + kFp32Rounding));
              break;
          }
        }
      }
    }
}

TEST(RowCodec, ConversionsAreThoseOfSingleNumbers) {
  const Matrix<float> rows = random_rows(5, 131, 7);

  const Matrix<float> halves = there_and_back(rows.view(), RowFormat::fp16);
  const Matrix<float> bfloats = there_and_back(rows.view(), RowFormat::bf16);

  for (std::size_t i = 0; i < rows.view().elements().size(); ++i) {
    const float x = rows.view().elements()[i];
    ASSERT_EQ(halves.view().elements()[i], half_to_float(float_to_half(x)));
    ASSERT_EQ(bfloats.view().elements()[i], bfloat16_to_float(float_to_bfloat16(x)));
  }
}

TEST(RowCodec, RepresentableValuesArriveAsTheyWere) {
  EXPECT_EQ(row_through({1.5F, -0.25F, 65504, 0x1p-24F, 0}, RowFormat::fp16),
            (std::vector<float>{1.5F, -0.25F, 65504, 0x1p-24F, 0}));
  EXPECT_EQ(row_through({1.5F, -0x1p100F, 3, 0}, RowFormat::bf16),
            (std::vector<float>{1.5F, -0x1p100F, 3, 0}));
  // Multiples of the row's scale.
  std::vector<float> grid;
  for (int code = -127; code <= 127; ++code) grid.push_back(0.125F * static_cast<float>(code));
  EXPECT_EQ(row_through(grid, RowFormat::int8), grid);
}

TEST(RowCodec, Int8RoundsTiesToEvenAndKeepsTheLargest) {
  EXPECT_EQ(row_through({127, 0.5F, 1.5F, 2.5F, -0.5F, -1.5F, -126.5F}, RowFormat::int8),
            (std::vector<float>{127, 0, 2, 2, 0, -2, -126}));
  for (const float largest : {3.14159F, 1e-3F, 7e20F, 3.4e38F, 1e-34F}) {
    const std::vector<float> arrived = row_through({-largest, largest}, RowFormat::int8);
    EXPECT_NEAR(arrived[1], largest, 2 * 0x1p-24 * largest);
    EXPECT_EQ(arrived[0], -arrived[1]);
  }
}

TEST(RowCodec, EachRowHasAScaleOfItsOwn) {
  Matrix<float> rows(2, 2);
  rows(0, 0) = 1e6F;
  rows(0, 1) = 1;
  rows(1, 0) = 0.01F;
  rows(1, 1) = -0.0049F;

  const Matrix<float> arrived = there_and_back(rows.view(), RowFormat::int8);

  EXPECT_EQ(arrived(0, 1), 0);  // beside a large one
  EXPECT_NEAR(arrived(1, 1), -0.0049, 0.01 / 127 / 2);
}

TEST(RowCodec, ZerosAndAllButZerosArriveAsZeros) {
  for (const RowFormat format : kFormats)
    EXPECT_EQ(row_through({0, -0.0F, 0}, format), (std::vector<float>{0, 0, 0}));
  const float denormal = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(row_through({denormal, -1e-38F, 1e-36F}, RowFormat::int8),
            (std::vector<float>{0, 0, 0}));
  EXPECT_TRUE(std::ranges::all_of(row_through({1, 0, -1, 0}, RowFormat::int8),
                                  [](float value) { return std::abs(value) == 1 || value == 0; }));
}

TEST(RowCodec, NumbersBeyondTheFormatBecomeItsLargest) {
  EXPECT_EQ(row_through({1e5F, -1e30F, 65519, 65520, 1}, RowFormat::fp16),
            (std::vector<float>{65504, -65504, 65504, 65504, 1}));
  const float largest = std::numeric_limits<float>::max(), largest_bfloat = 0x1.fep127F;
  EXPECT_EQ(row_through({largest, -largest}, RowFormat::bf16),
            (std::vector<float>{largest_bfloat, -largest_bfloat}));
}

TEST(RowCodec, WhatIsBrokenStaysBroken) {
  for (const RowFormat format : {RowFormat::fp16, RowFormat::bf16}) {
    const std::vector<float> arrived = row_through({kInfinite, -kInfinite, kNan, 1}, format);
    EXPECT_EQ(arrived[0], kInfinite);
    EXPECT_EQ(arrived[1], -kInfinite);
    EXPECT_TRUE(std::isnan(arrived[2]));
    EXPECT_EQ(arrived[3], 1);
  }
  for (const float broken : {kInfinite, -kInfinite, kNan, -kNan})
    for (const std::size_t at : {0U, 7U, 40U}) {
      Matrix<float> rows = random_rows(2, 41, 3);
      rows.view().row(0)[at] = broken;

      const Matrix<float> arrived = there_and_back(rows.view(), RowFormat::int8);

      for (const float value : arrived.view().row(0)) ASSERT_TRUE(std::isnan(value));
      for (const float value : arrived.view().row(1)) ASSERT_TRUE(std::isfinite(value));
    }
}

TEST(RowCodec, ReadsAndWritesStridedViews) {
  const Matrix<float> wide = random_rows(4, 40, 5);
  const MatrixView<const float> rows = wide.view().cols(3, 17);
  Matrix<float> dense(4, 17);
  copy(rows, dense.view());
  for (const RowFormat format : kFormats) {
    Matrix<float> arrived(4, 20);

    EXPECT_EQ(encode(rows, format), encode(dense.view(), format));
    decode_rows(encode(rows, format), format, arrived.view().cols(2, 17));

    const Matrix<float> expected = there_and_back(dense.view(), format);
    for (Index row = 0; row < 4; ++row)
      EXPECT_TRUE(
          std::ranges::equal(arrived.view().cols(2, 17).row(row), expected.view().row(row)));
    EXPECT_EQ(arrived(0, 1), 0);
    EXPECT_EQ(arrived(3, 19), 0);
  }
}

TEST(RowCodec, RefusesBytesOfAnotherSize) {
  Matrix<float> rows(2, 3);
  for (const RowFormat format : kFormats) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(2 * row_bytes(format, 3)) + 1);

    EXPECT_THROW(encode_rows(rows.view(), format, bytes), Error);
    EXPECT_THROW(decode_rows(bytes, format, rows.view()), Error);
    bytes.resize(bytes.size() - 2);
    EXPECT_THROW(encode_rows(rows.view(), format, bytes), Error);
    EXPECT_THROW(decode_rows(bytes, format, rows.view()), Error);
  }
  Matrix<float> none(0, 3);
  encode_rows(none.view(), RowFormat::int8, {});
  decode_rows({}, RowFormat::int8, none.view());
}

}  // namespace
}  // namespace thinwire::compress
