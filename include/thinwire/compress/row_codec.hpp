#pragma once
#include <cstddef>
#include <span>

#include "thinwire/compress/row_format.hpp"
#include "thinwire/tensor/matrix_view.hpp"

namespace thinwire::compress {

/// Writes rows [n, D] one behind the other, n * row_bytes(format, D) bytes.
///   fp16, bf16  rounded to nearest, ties to even. What is beyond the largest number becomes the
///               largest: an infinity would make the receiver's whole answer NaN. Infinities and
///               NaN stay what they are.
///   int8        scale = max |x| / 127 of the row, then x / scale to nearest, ties to even: off by
///               at most scale / 2, but for rounding in fp32. A row within 127 * 2^-126 of zero
///               arrives as zeros, one that holds an infinity or NaN as NaN throughout.
/// `out` is aligned to two bytes for fp16 and bf16.
/// Cost: one pass over the rows (int8: two, the second in the cache); one thread, no allocation.
/// Throws Error when `out` has another size.
void encode_rows(MatrixView<const float> rows, RowFormat format, std::span<std::byte> out);

/// Reads rows [n, D] that encode_rows() wrote; each value of a format is widened exactly, int8 then
/// multiplied by its row's scale. Throws Error when `from` has another size.
void decode_rows(std::span<const std::byte> from, RowFormat format, MatrixView<float> rows);

}  // namespace thinwire::compress
