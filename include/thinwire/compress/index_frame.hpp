#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "thinwire/compress/index_coding.hpp"

namespace thinwire::compress {

/// How indices lie in a frame (METHODS 3.2): after the header byte, if any, which holds `bits`,
/// field i occupies bits i * r .. (i + 1) * r - 1, the least significant bit of a byte first.
struct FrameFormat {
  int bits = 1;            ///< r, 1 .. 16
  bool has_header = true;  ///< TRACE: yes, ASTRA: no
  Index codewords = 2;     ///< indices are below this (K_m)
};

/// Writes `indices` to `frame`, whose size is frame_size(...).bytes(); unused bits become 0.
/// Indices are trusted to be in [0, codewords).
void pack_indices(std::span<const std::int32_t> indices, const FrameFormat& format,
                  std::span<std::byte> frame);

/// Reads indices.size() fields. Never reads past `frame`.
/// Throws Error that names `sender` when length, header, an index or the unused bits do not fit.
void unpack_indices(std::span<const std::byte> frame, const FrameFormat& format, int sender,
                    std::span<std::int32_t> indices);

}  // namespace thinwire::compress
