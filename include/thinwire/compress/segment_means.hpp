#pragma once
#include <cstdint>
#include <span>

#include "thinwire/compress/segments.hpp"
#include "thinwire/tensor/matrix_view.hpp"

namespace thinwire::compress {

/// Replaces runs of neighbouring rows by their mean over real rows, means.rows() (L) runs in all,
/// of the lengths that segment_lengths gives. A run without a real row becomes a zero row.
///
///   input  [local_tokens (n_p), hidden (D)]
///   real   [n_p] 0 marks padding; empty: every row is real
///   means  [segments (L), hidden (D)], overwritten
///
/// Cost: n_p * D additions, no allocation; columns are summed in fp32.
/// Source: PRISM, section "Segment Means", Algorithm 2.
void segment_means(MatrixView<const float> input, std::span<const std::uint8_t> real,
                   MatrixView<float> means);

}  // namespace thinwire::compress
