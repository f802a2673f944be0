#include "thinwire/compress/index_frame.hpp"

#include <algorithm>

#include "thinwire/base/error.hpp"

namespace thinwire::compress {
namespace {

constexpr int kWordBits = 32;
constexpr std::ptrdiff_t kWordBytes = 4;

// Spelled out a byte at a time, the frame is the same on every machine; where bytes lie in this
// order anyway, the compiler makes one load or store of it.
void store_word(std::uint64_t bits, std::byte* to) {
  for (int i = 0; i < kWordBytes; ++i) to[i] = static_cast<std::byte>(bits >> (8 * i));
}

std::uint64_t load_word(const std::byte* from) {
  std::uint64_t bits = 0;
  for (int i = 0; i < kWordBytes; ++i) bits |= std::to_integer<std::uint64_t>(from[i]) << (8 * i);
  return bits;
}

void check_format(const FrameFormat& format) {
  TW_REQUIRE(format.bits >= 1 && format.bits <= 16 && format.codewords >= 1 &&
                 format.codewords <= Index{1} << format.bits,
             "a frame of {}-bit indices of {} codewords", format.bits, format.codewords);
}

/// Fields from the first payload byte on. At most 31 bits wait for a whole word.
void write_fields(std::span<const std::int32_t> indices, int bits, std::byte* out) {
  std::uint64_t pending = 0;
  int filled = 0;
  for (const std::int32_t index : indices) {
    pending |= static_cast<std::uint64_t>(static_cast<std::uint32_t>(index)) << filled;
    filled += bits;
    if (filled >= kWordBits) {
      store_word(pending, out);
      out += kWordBytes;
      pending >>= kWordBits;
      filled -= kWordBits;
    }
  }
  for (; filled > 0; filled -= 8, pending >>= 8) *out++ = static_cast<std::byte>(pending);
}

/// The inverse, of a payload as long as the fields need; returns the unused bits.
std::uint64_t read_fields(std::span<const std::byte> payload, int bits,
                          std::span<std::int32_t> indices) {
  const std::byte* next = payload.data();
  const std::byte* const end = next + payload.size();
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  std::uint64_t pending = 0;
  int available = 0;
  for (std::int32_t& index : indices) {
    if (available < bits && end - next >= kWordBytes) {
      pending |= load_word(next) << available;
      next += kWordBytes;
      available += kWordBits;
    }
    for (; available < bits && next < end; available += 8)
      pending |= std::to_integer<std::uint64_t>(*next++) << available;
    index = static_cast<std::int32_t>(pending & mask);
    pending >>= bits;
    available -= bits;
  }
  return pending;
}

}  // namespace

void pack_indices(std::span<const std::int32_t> indices, const FrameFormat& format,
                  std::span<std::byte> frame) {
  check_format(format);
  const FrameSize size = frame_size(std::ssize(indices), format.bits, format.has_header);
  TW_REQUIRE(std::ssize(frame) == size.bytes(), "a frame of {} bytes for {} indices of {} bits",
             frame.size(), indices.size(), format.bits);
  if (format.has_header) {
    frame.front() = static_cast<std::byte>(format.bits);
    frame = frame.subspan(1);
  }
  write_fields(indices, format.bits, frame.data());
}

void unpack_indices(std::span<const std::byte> frame, const FrameFormat& format, int sender,
                    std::span<std::int32_t> indices) {
  check_format(format);
  const FrameSize size = frame_size(std::ssize(indices), format.bits, format.has_header);
  TW_REQUIRE(std::ssize(frame) == size.bytes(),
             "the frame of device {} has {} bytes instead of {} for {} indices of {} bits", sender,
             frame.size(), size.bytes(), indices.size(), format.bits);
  if (format.has_header) {
    const int width = std::to_integer<int>(frame.front());
    TW_REQUIRE(width == format.bits, "the frame of device {} says {} bits an index instead of {}",
               sender, width, format.bits);
    frame = frame.subspan(1);
  }
  const std::uint64_t unused = read_fields(frame, format.bits, indices);
  TW_REQUIRE(unused == 0, "the frame of device {} has unused bits that are not 0", sender);
  if (indices.empty()) return;
  const std::int32_t largest = std::ranges::max(indices);
  TW_REQUIRE(largest < format.codewords,
             "the frame of device {} has index {} where {} codewords are in use", sender, largest,
             format.codewords);
}

}  // namespace thinwire::compress
