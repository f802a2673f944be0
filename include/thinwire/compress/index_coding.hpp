#pragma once
#include <cstdint>
#include <string_view>

#include "thinwire/base/types.hpp"

namespace thinwire::compress {

// What follows from a configuration about coded rows, before any is coded. A formula header.

/// How wide ASTRA's indices are on the wire (METHODS 3.2).
enum class IndexBits {
  wide,    ///< 16 bits each, what TRACE compares against
  packed,  ///< the fewest bits that hold them
};
IndexBits parse_index_bits(std::string_view name);  // "16" or "packed"; InputError otherwise
std::string_view to_string(IndexBits bits);

/// How a frame's indices are coded. The values are those of a frame's header byte.
enum class IndexCoding {
  fixed,        ///< r bits each
  entropy,      ///< by how often each index occurs
  cross_layer,  ///< by which index the same token had at the exchange before
};
IndexCoding parse_index_coding(std::string_view name);  // "fixed", "entropy" or "cross-layer"
std::string_view to_string(IndexCoding coding);
/// One line for help texts and lists.
std::string_view summary(IndexCoding coding);

/// What a receiver of trace-b has precomputed for every codeword (METHODS 3.3).
enum class Buffers {
  kv,      ///< K and V of the next block: a look-up replaces every product
  hidden,  ///< the block's output; the receiver projects K and V
  off,     ///< nothing: the receiver runs the block's second half and projects
};
Buffers parse_buffers(std::string_view name);  // InputError with the known names
std::string_view to_string(Buffers buffers);

/// What a device's rows are when they are quantised and published.
enum class Published {
  block_output,      ///< Y, after the block (voltage, prism, astra)
  residual,          ///< Z, after attention and its residual (trace-b, trace-2a)
  attention_output,  ///< A W_O, before the residual (trace-nb, trace-1b)
};

/// Which codebooks a strategy codes its exchanges with.
struct CodebookUse {
  Published published = Published::residual;
  bool codes_first_exchange = true;  ///< false: exchange 0 carries raw rows (trace-nb, trace-2a)
  Index groups = 1;                  ///< G: equal runs of columns, each with a codebook (astra)
  Buffers buffers = Buffers::off;
  bool operator==(const CodebookUse&) const = default;

  /// ASTRA goes by squared distance, TRACE by cosine similarity.
  bool is_squared() const { return published == Published::block_output; }
  bool codes(Index exchange) const { return exchange > 0 || codes_first_exchange; }
};

/// What the frames of a coded exchange are written with when `chosen` is asked for:
///   exchange 0 that a terminal makes (`from_terminal`) stays fixed, since it is scattered in
///   messages whose sizes are known beforehand; its sender is not the tokens' device, whose next
///   frame therefore has no previous indices. Nor has the first exchange that is coded: cross_layer
///   is entropy there.
IndexCoding coding_of(IndexCoding chosen, const CodebookUse& use, Index exchange,
                      bool from_terminal);

/// r = ceil(log2 K), at least 1.   codewords 1 .. 65536
int index_bits(Index codewords);

/// Size of a packed frame of `count` fields of `bits` each, behind one header byte if there is one.
struct FrameSize {
  std::int64_t payload_bits = 0, header_bits = 0, padding_bits = 0;
  std::int64_t bytes() const { return (payload_bits + header_bits + padding_bits) / 8; }
  bool operator==(const FrameSize&) const = default;
};
FrameSize frame_size(Index count, int bits, bool has_header);
/// Of a coded frame, a header included, whose tables expect `index_bits` of an index (IndexCost):
/// no more than the fixed frame that would replace it.
FrameSize expected_frame_size(Index count, int bits, double index_bits);

}  // namespace thinwire::compress
