#pragma once
#include <algorithm>
#include <span>
#include <type_traits>

#include "thinwire/base/error.hpp"
#include "thinwire/base/types.hpp"

namespace thinwire {

/// Borrows a row-major matrix [rows, cols]; row r starts at data + r * stride (stride >= cols).
template <class T>
class MatrixView {
 public:
  MatrixView() = default;
  MatrixView(T* data, Index rows, Index cols, Index stride)
      : data_(data), rows_(rows), cols_(cols), stride_(stride) {}
  MatrixView(T* data, Index rows, Index cols) : MatrixView(data, rows, cols, cols) {}
  operator MatrixView<const T>() const requires(!std::is_const_v<T>) {
    return {data_, rows_, cols_, stride_};
  }

  T* data() const { return data_; }
  Index rows() const { return rows_; }
  Index cols() const { return cols_; }
  Index stride() const { return stride_; }
  Index size() const { return rows_ * cols_; }
  bool is_dense() const { return stride_ == cols_ || rows_ <= 1; }

  T& operator()(Index row, Index col) const { return data_[row * stride_ + col]; }
  std::span<T> row(Index r) const { return {data_ + r * stride_, static_cast<std::size_t>(cols_)}; }
  /// Rows [begin, begin + count).
  MatrixView rows(Index begin, Index count) const {
    TW_REQUIRE(begin >= 0 && count >= 0 && begin + count <= rows_,
               "rows {}..{} of a matrix with {} rows", begin, begin + count, rows_);
    return {data_ + begin * stride_, count, cols_, stride_};
  }
  /// Columns [begin, begin + count) of every row.
  MatrixView cols(Index begin, Index count) const {
    TW_REQUIRE(begin >= 0 && count >= 0 && begin + count <= cols_,
               "columns {}..{} of a matrix with {} columns", begin, begin + count, cols_);
    return {data_ + begin, rows_, count, stride_};
  }
  /// All elements in order; the view must be dense.
  std::span<T> elements() const {
    TW_REQUIRE(is_dense(), "elements() of a strided view (stride {}, {} columns)", stride_, cols_);
    return {data_, static_cast<std::size_t>(size())};
  }

 private:
  T* data_ = nullptr;
  Index rows_ = 0, cols_ = 0, stride_ = 0;
};

/// Copies values; shapes must agree.
template <class T>
void copy(MatrixView<const T> from, std::type_identity_t<MatrixView<T>> to) {
  TW_REQUIRE(from.rows() == to.rows() && from.cols() == to.cols(), "copy of [{}, {}] to [{}, {}]",
             from.rows(), from.cols(), to.rows(), to.cols());
  for (Index r = 0; r < from.rows(); ++r)
    std::copy_n(from.row(r).data(), from.cols(), to.row(r).data());
}

}  // namespace thinwire
