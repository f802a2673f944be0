#include "thinwire/tensor/matrix.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "thinwire/tensor/tracking_resource.hpp"

namespace thinwire {
namespace {

/// Element (r, c) is 10 r + c.
Matrix<int> counted_matrix(Index rows, Index cols) {
  Matrix<int> matrix(rows, cols);
  for (Index r = 0; r < rows; ++r)
    for (Index c = 0; c < cols; ++c) matrix(r, c) = static_cast<int>(10 * r + c);
  return matrix;
}

TEST(Matrix, IsZeroedAndAligned) {
  const Matrix<float> matrix(3, 5);

  for (const float value : matrix.view().elements()) EXPECT_EQ(value, 0.0F);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(matrix.view().data()) % 64, 0U);
  EXPECT_EQ(matrix.bytes(), 60U);
}

TEST(Matrix, MayBeEmpty) {
  const Matrix<float> none, flat(0, 7);

  EXPECT_EQ(none.view().size(), 0);
  EXPECT_EQ(flat.cols(), 7);
  EXPECT_TRUE(flat.view().elements().empty());
}

TEST(Matrix, RefusesANegativeShape) {
  EXPECT_THROW(Matrix<float>(-1, 2), Error);
}

TEST(Matrix, MovesWithoutCopyingAndReturnsItsMemory) {
  TrackingResource memory;
  {
    Matrix<int> first(4, 4, &memory);
    first(2, 3) = 9;
    const int* const data = first.view().data();

    Matrix<int> second = std::move(first);
    Matrix<int> third(2, 2, &memory);
    third = std::move(second);

    EXPECT_EQ(third.view().data(), data);
    EXPECT_EQ(third(2, 3), 9);
    EXPECT_EQ(memory.held_bytes(), 64);  // the 2 x 2 matrix was freed by the assignment
  }
  EXPECT_EQ(memory.held_bytes(), 0);
}

TEST(MatrixView, SelectsRowsAndColumns) {
  const Matrix<int> matrix = counted_matrix(4, 5);

  const auto block = matrix.view().rows(1, 2).cols(2, 3);

  EXPECT_EQ(block.rows(), 2);
  EXPECT_EQ(block.cols(), 3);
  EXPECT_EQ(block.stride(), 5);
  EXPECT_EQ(block(0, 0), 12);
  EXPECT_EQ(block(1, 2), 24);
  EXPECT_EQ(block.row(1)[0], 22);
  EXPECT_FALSE(block.is_dense());
  EXPECT_THROW(block.elements(), Error);
  EXPECT_TRUE(block.rows(0, 1).is_dense());
  EXPECT_EQ(matrix.first(3).rows(), 3);
}

TEST(MatrixView, RefusesWhatLiesOutside) {
  const Matrix<int> matrix = counted_matrix(4, 5);

  EXPECT_THROW(matrix.view().rows(3, 2), Error);
  EXPECT_THROW(matrix.view().rows(-1, 2), Error);
  EXPECT_THROW(matrix.view().cols(0, 6), Error);
  EXPECT_NO_THROW(matrix.view().rows(4, 0));
}

TEST(MatrixCopy, CopiesBetweenStridesAndRefusesOtherShapes) {
  const Matrix<int> from = counted_matrix(3, 4);
  Matrix<int> to(3, 6);

  copy(from.view(), to.view().cols(1, 4));

  EXPECT_EQ(to(2, 0), 0);
  EXPECT_EQ(to(2, 1), 20);
  EXPECT_EQ(to(2, 4), 23);
  EXPECT_EQ(to(2, 5), 0);
  EXPECT_THROW(copy(from.view(), to.view()), Error);
}

}  // namespace
}  // namespace thinwire
