// Frames of codeword indices, as they arrive from another device. The first four bytes say what the
// receiver expects: bits, header, codewords (lower and upper half of the range), number of indices.

#include <algorithm>
#include <vector>

#include "fuzz_target.hpp"
#include "thinwire/compress/index_frame.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thinwire;
  constexpr std::size_t kSetting = 4;
  if (size < kSetting) return 0;
  const int bits = 1 + data[0] % 16;
  const Index most = Index{1} << bits;
  const compress::FrameFormat format{
      .bits = bits, .has_header = data[1] % 2 == 1, .codewords = most - (data[2] * most / 512)};
  std::vector<std::int32_t> indices(data[3]);
  const auto frame = std::as_bytes(std::span(data + kSetting, size - kSetting));
  try {
    compress::unpack_indices(frame, format, 1, indices);
  } catch (const Error&) {
    return 0;  // a broken contract between devices, not a user's input
  }
  std::vector<std::byte> again(frame.size());
  compress::pack_indices(indices, format, again);
  fuzz::require(std::ranges::equal(again, frame));
  return 0;
}
