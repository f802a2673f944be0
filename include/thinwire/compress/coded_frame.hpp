#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "thinwire/compress/index_frame.hpp"
#include "thinwire/compress/index_tables.hpp"

namespace thinwire::compress {

/// The first byte of a frame: bits 0 .. 4 hold r, 5 and 6 the coding, 7 is 0. A fixed frame of
/// trace is thereby what pack_indices writes.
struct FrameHeader {
  int bits = 1;  ///< r of the sender's level
  IndexCoding coding = IndexCoding::fixed;
};
/// Throws Error that names `sender` for a frame without a header or with one that none can have.
FrameHeader read_frame_header(std::span<const std::byte> frame, int sender);

/// Most bytes that a frame of `count` indices can take: those of the fixed frame with a header.
/// Only a fixed frame of astra is one byte shorter, as it has no header.
std::int64_t worst_frame_bytes(Index count, const FrameFormat& format, IndexCoding coding);

/// Writes a frame of `indices` [n * G] and returns its bytes, at most worst_frame_bytes().
///   tables  one a group, made for format.codewords; not read if coding is fixed
///   frame   room for worst_frame_bytes()
/// Coding cross_layer without known indices is entropy. A coded frame that would not be shorter
/// than the fixed one is replaced by it; every frame has a header unless coding is fixed and the
/// format has none. Any indices in [0, format.codewords) come back whole, also those that no
/// statistics saw.
std::int64_t encode_frame(std::span<const std::int32_t> indices, const KnownIndices& known,
                          std::span<const IndexTables> tables, const FrameFormat& format,
                          IndexCoding coding, std::span<std::byte> frame);

/// Reads indices.size() indices of a whole frame, as encode_frame() with the same arguments wrote
/// it. Time and reads are bounded by indices.size() and frame.size(), whatever is in the frame.
/// Throws Error that names `sender` for every frame that encode_frame() does not write, of whatever
/// indices: each sequence has one frame. What a broken frame has become may be that of another
/// sequence, as with fixed frames.
void decode_frame(std::span<const std::byte> frame, const KnownIndices& known,
                  std::span<const IndexTables> tables, const FrameFormat& format,
                  IndexCoding coding, int sender, std::span<std::int32_t> indices);

}  // namespace thinwire::compress
