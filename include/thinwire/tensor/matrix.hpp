#pragma once
#include <memory_resource>
#include <utility>

#include "thinwire/tensor/matrix_view.hpp"

namespace thinwire {

/// Owns a dense row-major matrix [rows, cols], 64-byte aligned, zeroed unless told otherwise.
/// Memory comes from `memory` (the heap by default; a device's tracked workspace, or memory that
/// the ranks of a node share). Moves, never copies.
template <class T>
class Matrix {
 public:
  enum class Fill { zero, none };

  Matrix() = default;
  Matrix(Index rows, Index cols,
         std::pmr::memory_resource* memory = std::pmr::new_delete_resource(),
         Fill fill = Fill::zero)
      : rows_(rows), cols_(cols), memory_(memory) {
    TW_REQUIRE(rows >= 0 && cols >= 0, "a matrix of [{}, {}]", rows, cols);
    if (rows * cols > 0) data_ = static_cast<T*>(memory_->allocate(bytes(), kAlignment));
    if (fill == Fill::zero) std::fill_n(data_, rows * cols, T{});
  }
  Matrix(Matrix&& other) noexcept { swap(other); }
  Matrix& operator=(Matrix&& other) noexcept {
    Matrix(std::move(other)).swap(*this);
    return *this;
  }
  ~Matrix() {
    if (data_ != nullptr) memory_->deallocate(data_, bytes(), kAlignment);
  }

  Index rows() const { return rows_; }
  Index cols() const { return cols_; }
  std::size_t bytes() const { return static_cast<std::size_t>(rows_ * cols_) * sizeof(T); }
  T& operator()(Index row, Index col) { return data_[row * cols_ + col]; }
  const T& operator()(Index row, Index col) const { return data_[row * cols_ + col]; }

  MatrixView<T> view() { return {data_, rows_, cols_}; }
  MatrixView<const T> view() const { return {data_, rows_, cols_}; }
  /// The first `count` rows.
  MatrixView<T> first(Index count) { return view().rows(0, count); }
  MatrixView<const T> first(Index count) const { return view().rows(0, count); }

  static constexpr std::size_t kAlignment = 64;

 private:
  void swap(Matrix& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(rows_, other.rows_);
    std::swap(cols_, other.cols_);
    std::swap(memory_, other.memory_);
  }

  T* data_ = nullptr;
  Index rows_ = 0, cols_ = 0;
  std::pmr::memory_resource* memory_ = std::pmr::new_delete_resource();
};

}  // namespace thinwire
