// Coded frames of codeword indices, as they arrive from another device. The first four bytes say
// what the receiver expects: tables, coding and what is known, a header in fixed frames, number of
// indices.

#include <algorithm>
#include <vector>

#include "fuzz_target.hpp"
#include "thinwire/compress/coded_frame.hpp"

namespace {

using namespace thinwire;
using namespace thinwire::compress;

/// Tables of indices that follow each other: with lists of every kind.
IndexTables make_tables(Index codewords) {
  IndexStatistics statistics(codewords, codewords);
  std::vector<std::int32_t> indices, previous, earlier;
  const auto modulus = static_cast<std::int32_t>(codewords);
  for (std::int32_t i = 0; i < 400; ++i) {
    earlier.push_back(i * 17 % modulus);
    previous.push_back((earlier.back() + i % 2) % modulus);
    indices.push_back((previous.back() + i % 3) % modulus);
  }
  for (int frame = 0; frame < 3; ++frame)
    statistics.add(indices, {.previous = previous, .earlier = earlier});
  return IndexTables(statistics);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kSetting = 4;
  static const IndexTables all[] = {make_tables(2), make_tables(8), make_tables(37),
                                    make_tables(512)};
  if (size < kSetting) return 0;
  const IndexTables& tables = all[data[0] % std::size(all)];
  const FrameFormat format{.bits = index_bits(tables.codewords()),
                           .has_header = data[2] % 2 == 1,
                           .codewords = tables.codewords()};
  const IndexCoding coding = data[1] % 2 == 1 ? IndexCoding::cross_layer : IndexCoding::entropy;
  std::vector<std::int32_t> indices(data[3]), known(data[3]);
  for (std::size_t i = 0; i < known.size(); ++i)
    known[i] = static_cast<std::int32_t>(i * 5 % static_cast<std::size_t>(format.codewords));
  KnownIndices before;
  if (data[1] / 2 % 3 > 0) before.previous = known;
  if (data[1] / 2 % 3 > 1) before.earlier = known;
  const auto frame = std::as_bytes(std::span(data + kSetting, size - kSetting));
  try {
    decode_frame(frame, before, {&tables, 1}, format, coding, 1, indices);
  } catch (const Error&) {
    return 0;  // a broken contract between devices, not a user's input
  }
  if (read_frame_header(frame, 1).coding == IndexCoding::fixed) return 0;
  std::vector<std::byte> again(
      static_cast<std::size_t>(worst_frame_bytes(std::ssize(indices), format, coding)));
  again.resize(
      static_cast<std::size_t>(encode_frame(indices, before, {&tables, 1}, format, coding, again)));
  fuzz::require(std::ranges::equal(again, frame));
  return 0;
}
