#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "thinwire/tensor/matrix_view.hpp"

namespace thinwire::compress {

/// What two codewords are compared by when a hierarchy is built (TRACE, Table VII).
enum class Dissimilarity { euclidean, cosine, usage };
Dissimilarity parse_dissimilarity(std::string_view name);  // InputError with the known names
std::string_view to_string(Dissimilarity dissimilarity);

/// The default level sizes: those of 2, 4, 8, 32 below `codewords` (K), then K.
std::vector<Index> default_levels(Index codewords);

/// Nested sub-codebooks by k-medoids from fine to coarse: each level's medoids are chosen among the
/// next finer level's (greedy BUILD, then assignment and medoid update in turn until nothing
/// changes; ties to the lower code number).
///   codewords [K, width]   levels: sizes ascending, the last is K
///   usage [K] counts, read for Dissimilarity::usage only (|n_i - n_j|)
/// Returns the permutation [K]: coarse medoids first, within a level by ascending code number, so
/// that level m is its first levels[m] entries.
/// Throws InputError for levels that are not ascending, below 2, or do not end at K.
/// Source: TRACE, section IV (multi-resolution codebooks).
std::vector<std::int32_t> build_hierarchy(MatrixView<const float> codewords,
                                          std::span<const Index> levels,
                                          Dissimilarity dissimilarity,
                                          std::span<const std::int64_t> usage = {});

}  // namespace thinwire::compress
