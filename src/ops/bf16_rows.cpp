#include "bf16_rows.hpp"

#include <omp.h>

#include <algorithm>

#include "thinwire/tensor/half.hpp"
#include "thinwire/tensor/matrix.hpp"

namespace thinwire::ops {
namespace {

/// A piece is read from the second-level cache in about the time that waking a thread takes.
constexpr Index kPiece = 16384;

void round_piece(const float* from, Index count, std::uint16_t* to) {
  const auto size = static_cast<std::size_t>(count);
  floats_to_bfloat16s({from, size}, {to, size});
}

}  // namespace

void round_to_bf16(const float* from, Index count, std::uint16_t* to) {
  if (count <= 2 * kPiece || omp_get_max_threads() == 1) {
    round_piece(from, count, to);
    return;
  }
#pragma omp parallel for schedule(static)
  for (Index begin = 0; begin < count; begin += kPiece)
    round_piece(from + begin, std::min(kPiece, count - begin), to + begin);
}

const std::uint16_t* as_bf16(const float* from, Index count) {
  thread_local Matrix<std::uint16_t> rows;
  if (rows.cols() < count)
    rows = Matrix<std::uint16_t>(1, count, std::pmr::new_delete_resource(),
                                 Matrix<std::uint16_t>::Fill::none);
  round_to_bf16(from, count, rows.view().data());
  return rows.view().data();
}

}  // namespace thinwire::ops
