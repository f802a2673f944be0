#pragma once
#include "thinwire/compress/codebook_set.hpp"
#include "thinwire/compress/index_frame.hpp"

namespace thinwire::strategy {

/// TRACE's frames: a header byte, then the fewest bits that hold an index of the level.
inline compress::FrameFormat trace_format(const compress::CodebookSet& codebooks, int level) {
  const Index codewords = codebooks.levels()[static_cast<std::size_t>(level)];
  return {.bits = compress::index_bits(codewords), .has_header = true, .codewords = codewords};
}

}  // namespace thinwire::strategy
