#include "thinwire/compress/index_frame.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "support/golden.hpp"
#include "support/messages.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/base/random.hpp"

namespace thinwire::compress {
namespace {

using Indices = std::vector<std::int32_t>;
using Frame = std::vector<std::byte>;

constexpr int kSender = 2;

/// One list of the golden file, by value: a loop may run over it directly.
Json golden_frames(const char* list) {
  return read_json(test::kGoldenFolder / "frames.json").at(list);
}

Frame from_hex(const std::string& text) {
  Frame bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

Frame pack(const Indices& indices, const FrameFormat& format) {
  const FrameSize size = frame_size(std::ssize(indices), format.bits, format.has_header);
  Frame frame(static_cast<std::size_t>(size.bytes()), std::byte{0xFF});
  pack_indices(indices, format, frame);
  return frame;
}

Indices unpack(const Frame& frame, const FrameFormat& format, std::size_t count) {
  Indices indices(count, -1);
  unpack_indices(frame, format, kSender, indices);
  return indices;
}

/// What unpacking throws, "" if it does not.
std::string refusal(const Frame& frame, const FrameFormat& format, std::size_t count) {
  try {
    unpack(frame, format, count);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

FrameFormat format_of(int bits, bool has_header) {
  return {.bits = bits, .has_header = has_header, .codewords = Index{1} << bits};
}

Indices random_indices(std::size_t count, Index codewords, std::uint64_t seed) {
  const RandomStream random("index_frame_test", seed);
  Indices indices;
  for (std::uint64_t i = 0; i < count; ++i)
    indices.push_back(
        static_cast<std::int32_t>(random.bits(i) % static_cast<std::uint64_t>(codewords)));
  return indices;
}

/// The definition, a bit at a time: bit b of the fields is bit b % 8 of byte b / 8.
Frame pack_bit_by_bit(const Indices& indices, const FrameFormat& format) {
  const std::size_t header = format.has_header ? 1 : 0;
  const auto bits = static_cast<std::size_t>(format.bits);
  Frame frame(header + (indices.size() * bits + 7) / 8);
  if (format.has_header) frame[0] = static_cast<std::byte>(format.bits);
  for (std::size_t b = 0; b < indices.size() * bits; ++b)
    if (((indices[b / bits] >> (b % bits)) & 1) != 0)
      frame[header + b / 8] |= std::byte{1} << (b % 8);
  return frame;
}

TEST(IndexFrame, TraceFramesAreTheGoldenOnes) {
  for (const Json& golden : golden_frames("trace")) {
    const int bits = golden.at("bits");
    SCOPED_TRACE(testing::Message() << bits << " bits");
    const Indices indices = golden.at("indices");
    const Frame expected = from_hex(golden.at("bytes"));
    const FrameSize size = frame_size(std::ssize(indices), bits, true);

    EXPECT_EQ(pack(indices, format_of(bits, true)), expected);
    EXPECT_EQ(unpack(expected, format_of(bits, true), indices.size()), indices);
    EXPECT_EQ(size.header_bits, golden.at("header_bits").get<std::int64_t>());
    EXPECT_EQ(size.payload_bits, golden.at("payload_bits").get<std::int64_t>());
    EXPECT_EQ(size.padding_bits, golden.at("padding_bits").get<std::int64_t>());
  }
}

TEST(IndexFrame, AstraFramesAreTheGoldenOnes) {
  for (const Json& golden : golden_frames("astra")) {
    const bool is_packed = golden.at("index_bits") == "packed";
    const int bits = is_packed ? index_bits(golden.at("codewords").get<Index>()) : 16;
    SCOPED_TRACE(testing::Message() << bits << " bits");
    Indices indices;
    for (const Json& row : golden.at("indices"))
      for (const std::int32_t index : row) indices.push_back(index);
    const Frame expected = from_hex(golden.at("bytes"));

    EXPECT_EQ(pack(indices, format_of(bits, false)), expected);
    EXPECT_EQ(unpack(expected, format_of(bits, false), indices.size()), indices);
  }
}

TEST(IndexFrame, GoldenRejectsAreRefusedAndTheSenderNamed) {
  for (const Json& golden : golden_frames("reject")) {
    const Index level = golden.at("level_size");
    const FrameFormat format{.bits = index_bits(level), .has_header = true, .codewords = level};

    const std::string message =
        refusal(from_hex(golden.at("bytes")), format, golden.at("tokens").get<std::size_t>());

    EXPECT_TRUE(test::mentions(message, {"device 2"})) << golden.at("why");
  }
}

TEST(IndexFrame, EveryWidthAndCountComesBackWhole) {
  for (int bits = 1; bits <= 16; ++bits)
    for (const bool has_header : {true, false})
      for (const std::size_t count : {0U, 1U, 2U, 3U, 5U, 7U, 8U, 31U, 33U, 66U, 99U, 197U}) {
        SCOPED_TRACE(testing::Message() << count << " indices of " << bits << " bits");
        const FrameFormat format = format_of(bits, has_header);
        const Indices indices = random_indices(count, format.codewords, count);

        const Frame frame = pack(indices, format);

        EXPECT_EQ(frame, pack_bit_by_bit(indices, format));
        EXPECT_EQ(unpack(frame, format, count), indices);
      }
}

TEST(IndexFrame, OtherLengthsAreRefusedAndTheSenderNamed) {
  for (int bits = 1; bits <= 16; ++bits)
    for (const bool has_header : {true, false}) {
      const FrameFormat format = format_of(bits, has_header);
      const Frame whole = pack(random_indices(13, format.codewords, 1), format);
      for (std::size_t size = 0; size <= whole.size() + 3; ++size) {
        Frame frame = whole;
        frame.resize(size);

        const std::string message = refusal(frame, format, 13);

        if (size == whole.size())
          EXPECT_EQ(message, "");
        else
          EXPECT_TRUE(test::mentions(message, {"device 2", std::to_string(size) + " bytes"}));
      }
    }
}

TEST(IndexFrame, UnusedBitsThatAreSetAreRefused) {
  const FrameFormat format = format_of(5, true);
  const Frame whole = pack(Indices(9, 0), format);  // 45 bits: 3 are unused
  for (int bit = 5; bit < 8; ++bit) {
    Frame frame = whole;
    frame.back() |= std::byte{1} << bit;

    EXPECT_TRUE(test::mentions(refusal(frame, format, 9), {"device 2", "unused bits"})) << bit;
  }
}

TEST(IndexFrame, AnIndexOutsideTheLevelIsRefusedAndNamed) {
  for (const std::size_t place : {0U, 4U, 8U}) {
    Indices indices(9, 4);
    indices[place] = 6;
    const Frame frame = pack(indices, format_of(3, true));

    const FrameFormat narrow{.bits = 3, .has_header = true, .codewords = 5};

    EXPECT_TRUE(test::mentions(refusal(frame, narrow, 9), {"device 2", "index 6", "5 codewords"}));
    EXPECT_EQ(refusal(frame, format_of(3, true), 9), "");
  }
}

TEST(IndexFrame, RandomBytesThrowOrGiveIndicesInRange) {
  const RandomStream random("index_frame_test.fuzz", 1);
  std::uint64_t next = 0;
  const auto below = [&](std::uint64_t limit) { return random.bits(next++) % limit; };
  int accepted = 0, refused = 0;
  for (int round = 0; round < 20000; ++round) {
    const int bits = static_cast<int>(1 + below(16));
    const FrameFormat format{.bits = bits,
                             .has_header = below(2) == 1,
                             .codewords = static_cast<Index>(1 + below(std::uint64_t{1} << bits))};
    const std::size_t count = below(12);
    const FrameSize size = frame_size(static_cast<Index>(count), bits, format.has_header);
    // Mostly the right length; an array of its own, so that a sanitizer sees a read past its end.
    const std::size_t bytes = below(4) == 0 ? below(30) : static_cast<std::size_t>(size.bytes());
    const auto frame = std::make_unique<std::byte[]>(bytes);
    for (std::size_t i = 0; i < bytes; ++i) frame[i] = static_cast<std::byte>(below(256));
    if (format.has_header && bytes > 0 && below(2) == 1) frame[0] = static_cast<std::byte>(bits);
    Indices indices(count, -1);
    try {
      unpack_indices({frame.get(), bytes}, format, kSender, indices);
    } catch (const Error&) {
      ++refused;
      continue;
    }
    ++accepted;
    for (const std::int32_t index : indices)
      ASSERT_TRUE(index >= 0 && index < format.codewords) << index;
  }
  EXPECT_GT(accepted, 500);  // both ways were tried
  EXPECT_GT(refused, 500);
}

TEST(IndexFrame, RefusesFormatsAndSizesThatAreNone) {
  const Indices indices(4, 0);
  Frame frame(5);

  for (const FrameFormat& format :
       {FrameFormat{.bits = 0, .codewords = 1}, FrameFormat{.bits = 17, .codewords = 2},
        FrameFormat{.bits = 8, .codewords = 257}, FrameFormat{.bits = 8, .codewords = 0}}) {
    EXPECT_THROW(pack_indices(indices, format, frame), Error);
    EXPECT_NE(refusal(frame, format, 4), "");
  }
  EXPECT_NO_THROW(pack_indices(indices, format_of(8, true), frame));
  EXPECT_THROW(pack_indices(indices, format_of(9, true), frame), Error);
}

}  // namespace
}  // namespace thinwire::compress
