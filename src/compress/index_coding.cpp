#include "thinwire/compress/index_coding.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "thinwire/base/error.hpp"
#include "thinwire/base/text.hpp"

namespace thinwire::compress {
namespace {

constexpr std::array<std::string_view, 2> kIndexBitsNames = {"16", "packed"};
constexpr std::array<std::string_view, 3> kCodingNames = {"fixed", "entropy", "cross-layer"};
constexpr std::array<std::string_view, 3> kCodingSummaries = {
    "r bits an index", "fewer bits for frequent indices",
    "fewer bits for what usually follows the token's index at the exchange before"};
constexpr std::array<std::string_view, 3> kBuffersNames = {"kv", "hidden", "off"};

constexpr int kHeaderBits = 8, kBitsPerByte = 8;

}  // namespace

IndexBits parse_index_bits(std::string_view name) {
  return static_cast<IndexBits>(name_index("index-bits", name, kIndexBitsNames));
}

std::string_view to_string(IndexBits bits) {
  return kIndexBitsNames[static_cast<std::size_t>(bits)];
}

IndexCoding parse_index_coding(std::string_view name) {
  return static_cast<IndexCoding>(name_index("index-coding", name, kCodingNames));
}

std::string_view to_string(IndexCoding coding) {
  return kCodingNames[static_cast<std::size_t>(coding)];
}

std::string_view summary(IndexCoding coding) {
  return kCodingSummaries[static_cast<std::size_t>(coding)];
}

IndexCoding coding_of(IndexCoding chosen, const CodebookUse& use, Index exchange,
                      bool from_terminal) {
  if (from_terminal && exchange == 0) return IndexCoding::fixed;
  const bool has_previous =
      exchange > 0 && use.codes(exchange - 1) && !(from_terminal && exchange == 1);
  return chosen == IndexCoding::cross_layer && !has_previous ? IndexCoding::entropy : chosen;
}

Buffers parse_buffers(std::string_view name) {
  return static_cast<Buffers>(name_index("buffers", name, kBuffersNames));
}

std::string_view to_string(Buffers buffers) {
  return kBuffersNames[static_cast<std::size_t>(buffers)];
}

int index_bits(Index codewords) {
  TW_REQUIRE(codewords >= 1 && codewords <= 65536, "{} codewords (1 to 65536 have an index)",
             codewords);
  return std::max(1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(codewords - 1))));
}

FrameSize frame_size(Index count, int bits, bool has_header) {
  TW_REQUIRE(count >= 0 && bits >= 1 && bits <= 16, "a frame of {} fields of {} bits", count, bits);
  const std::int64_t payload = count * bits;
  return {.payload_bits = payload,
          .header_bits = has_header ? kHeaderBits : 0,
          .padding_bits = (kBitsPerByte - payload % kBitsPerByte) % kBitsPerByte};
}

FrameSize expected_frame_size(Index count, int bits, double index_bits) {
  FrameSize size = frame_size(count, bits, true);
  const std::int64_t expected = std::llround(index_bits * static_cast<double>(count));
  size.payload_bits = std::min(expected, size.payload_bits);
  size.padding_bits = (kBitsPerByte - size.payload_bits % kBitsPerByte) % kBitsPerByte;
  return size;
}

}  // namespace thinwire::compress
