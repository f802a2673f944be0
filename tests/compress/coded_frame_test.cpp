#include "thinwire/compress/coded_frame.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "index_chain.hpp"
#include "support/frame_trials.hpp"
#include "support/messages.hpp"

namespace thinwire::compress {
namespace {

using Indices = std::vector<std::int32_t>;
using Frame = std::vector<std::byte>;

constexpr int kSender = 2;

/// What two devices agree on.
class Channel {
 public:
  explicit Channel(Index codewords, Index contexts = 0, bool has_header = true)
      : format_{.bits = index_bits(codewords), .has_header = has_header, .codewords = codewords} {
    tables_.emplace_back(chain_statistics(codewords, contexts > 0 ? contexts : codewords, 300));
  }

  const FrameFormat& format() const { return format_; }

  Frame encode(const Indices& indices, const KnownIndices& known, IndexCoding coding) const {
    Frame frame(static_cast<std::size_t>(worst_frame_bytes(std::ssize(indices), format_, coding)));
    frame.resize(
        static_cast<std::size_t>(encode_frame(indices, known, tables_, format_, coding, frame)));
    return frame;
  }

  Indices decode(const Frame& frame, const KnownIndices& known, IndexCoding coding,
                 std::size_t count) const {
    Indices indices(count, -1);
    decode_frame(frame, known, tables_, format_, coding, kSender, indices);
    return indices;
  }

  /// What decoding throws, "" if it does not.
  std::string refusal(const Frame& frame, const KnownIndices& known, IndexCoding coding,
                      std::size_t count) const {
    try {
      decode(frame, known, coding, count);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

 private:
  FrameFormat format_;
  std::vector<IndexTables> tables_;
};

TEST(CodedFrame, EveryCountComesBackWholeWithEveryCoding) {
  const Channel channel(256);
  IndexChain chain(256, 7);
  for (const std::size_t count : {0U, 1U, 2U, 3U, 4U, 16U, 33U, 99U, 1000U})
    for (const IndexCoding coding :
         {IndexCoding::fixed, IndexCoding::entropy, IndexCoding::cross_layer}) {
      SCOPED_TRACE(testing::Message() << count << " indices, " << to_string(coding));
      const IndexChain::Frames frames = chain.next(count);

      const Frame frame = channel.encode(frames.indices, frames.known(), coding);

      EXPECT_EQ(channel.decode(frame, frames.known(), coding, count), frames.indices);
      EXPECT_EQ(channel.decode(channel.encode(frames.indices, {}, coding), {}, coding, count),
                frames.indices);
    }
}

TEST(CodedFrame, WhatFollowsTakesFewerBitsAndTheHeaderSaysHow) {
  const Channel channel(256);
  IndexChain chain(256, 8);
  const IndexChain::Frames frames = chain.next(400);

  const Frame fixed = channel.encode(frames.indices, frames.known(), IndexCoding::fixed);
  const Frame entropy = channel.encode(frames.indices, frames.known(), IndexCoding::entropy);
  const Frame cross = channel.encode(frames.indices, frames.known(), IndexCoding::cross_layer);
  const Frame first = channel.encode(frames.indices, {}, IndexCoding::cross_layer);

  EXPECT_EQ(fixed.size(), 401);
  EXPECT_LT(entropy.size(), fixed.size());
  EXPECT_LT(cross.size(), 0.4 * static_cast<double>(fixed.size()));
  EXPECT_EQ(first, entropy);  // nothing is known before the first exchange
  const auto expect_header = [](const Frame& frame, IndexCoding coding) {
    const FrameHeader header = read_frame_header(frame, kSender);
    EXPECT_EQ(header.bits, 8);
    EXPECT_EQ(header.coding, coding);
  };
  expect_header(fixed, IndexCoding::fixed);
  expect_header(entropy, IndexCoding::entropy);
  expect_header(cross, IndexCoding::cross_layer);
  EXPECT_EQ(cross.front(), std::byte{0x48});
}

TEST(CodedFrame, FixedCodingIsThePlainFrame) {
  const Channel trace(37), astra(37, 0, false);
  const Indices indices = {0, 5, 36, 7};
  for (const Channel* channel : {&trace, &astra}) {
    Frame plain(static_cast<std::size_t>(
        frame_size(4, channel->format().bits, channel->format().has_header).bytes()));
    pack_indices(indices, channel->format(), plain);

    EXPECT_EQ(channel->encode(indices, {}, IndexCoding::fixed), plain);
  }
}

TEST(CodedFrame, NeverLongerThanTheFixedFrameWithItsHeader) {
  IndexChain chain(64, 9);
  for (const bool has_header : {true, false}) {
    const Channel channel(64, 0, has_header);
    for (std::size_t count = 0; count < 60; ++count) {
      const Indices indices = random_chain_indices(chain, count, 64);
      const Indices previous = random_chain_indices(chain, count, 64);
      const auto most = frame_size(static_cast<Index>(count), 6, true).bytes();
      for (const IndexCoding coding : {IndexCoding::entropy, IndexCoding::cross_layer}) {
        const Frame frame = channel.encode(indices, {.previous = previous}, coding);

        EXPECT_LE(std::ssize(frame), most);
        EXPECT_EQ(worst_frame_bytes(static_cast<Index>(count), channel.format(), coding), most);
        EXPECT_EQ(channel.decode(frame, {.previous = previous}, coding, count), indices);
      }
    }
    EXPECT_EQ(worst_frame_bytes(4, channel.format(), IndexCoding::fixed), has_header ? 4 : 3);
  }
}

TEST(CodedFrame, EndsWithinThreeBitsOfTheEntropyOnAverage) {
  const Channel channel(256);
  IndexChain chain(256, 10);
  for (const std::size_t count : {4U, 16U, 33U}) {
    // The frames' own entropy is that of one long frame with the same contexts.
    double short_bits = 0;
    IndexChain::Frames all;
    constexpr int kFrames = 400;
    for (int i = 0; i < kFrames; ++i) {
      const IndexChain::Frames frames = chain.next(count);
      short_bits +=
          8 *
          static_cast<double>(
              channel.encode(frames.indices, frames.known(), IndexCoding::cross_layer).size() - 1);
      const auto append = [](Indices& to, const Indices& from) {
        to.insert(to.end(), from.begin(), from.end());
      };
      append(all.earlier, frames.earlier);
      append(all.previous, frames.previous);
      append(all.indices, frames.indices);
    }
    const double long_bits =
        8 * static_cast<double>(
                channel.encode(all.indices, all.known(), IndexCoding::cross_layer).size());

    EXPECT_LT(short_bits - long_bits, 3.5 * kFrames) << count;
    EXPECT_GT(short_bits - long_bits, 1.0 * kFrames) << count;
  }
}

TEST(CodedFrame, CoarserLevelsAreCodedAfterPositionsOfTheFinest) {
  const Channel coarse(8, 256);
  IndexChain chain(8, 11);
  const IndexChain::Frames frames = chain.next(50);
  const Indices fine = random_chain_indices(chain, 50, 256);

  const Frame same = coarse.encode(frames.indices, frames.known(), IndexCoding::cross_layer);
  const Frame mixed = coarse.encode(frames.indices, {.previous = fine}, IndexCoding::cross_layer);

  EXPECT_EQ(coarse.decode(same, frames.known(), IndexCoding::cross_layer, 50), frames.indices);
  EXPECT_EQ(coarse.decode(mixed, {.previous = fine}, IndexCoding::cross_layer, 50), frames.indices);
}

TEST(CodedFrame, EveryGroupIsCodedByTablesOfItsOwn) {
  IndexStatistics even(64, 64), odd(64, 64);
  Indices indices;
  for (std::int32_t i = 0; i < 200; ++i) indices.insert(indices.end(), {i % 2, 62 + i % 2});
  for (int i = 0; i < 20; ++i) {
    even.add(indices, {}, 0, 2);
    odd.add(indices, {}, 1, 2);
  }
  std::vector<IndexTables> tables;
  tables.emplace_back(even);
  tables.emplace_back(odd);
  const FrameFormat format{.bits = 6, .has_header = false, .codewords = 64};
  Frame frame(static_cast<std::size_t>(worst_frame_bytes(400, format, IndexCoding::entropy)));

  const auto size = static_cast<std::size_t>(
      encode_frame(indices, {}, tables, format, IndexCoding::entropy, frame));
  Indices decoded(400);
  decode_frame(std::span(frame).first(size), {}, tables, format, IndexCoding::entropy, kSender,
               decoded);

  EXPECT_EQ(decoded, indices);
  EXPECT_LT(size, 30);  // each group alternates, which its neighbours tell
}

TEST(CodedFrame, BrokenFramesAreRefusedAndTheSenderNamed) {
  const Channel channel(256);
  IndexChain chain(256, 12);
  const IndexChain::Frames frames = chain.next(40);
  const Frame whole = channel.encode(frames.indices, frames.known(), IndexCoding::cross_layer);
  const auto refusal = [&](const Frame& frame) {
    return channel.refusal(frame, frames.known(), IndexCoding::cross_layer, 40);
  };
  ASSERT_EQ(refusal(whole), "");

  EXPECT_TRUE(test::mentions(refusal({}), {"device 2", "empty"}));
  // Shorter or changed, a frame is refused unless it is the frame of other indices.
  int refused = 0;
  for (std::size_t at = 1; at < whole.size(); ++at)
    for (int bit = -1; bit < 8; ++bit) {
      Frame broken = whole;
      if (bit < 0)
        broken.resize(at);
      else
        broken[at] ^= std::byte{1} << bit;
      if (const std::string message = refusal(broken); !message.empty()) {
        EXPECT_TRUE(test::mentions(message, {"device 2"}));
        ++refused;
        continue;
      }
      const Indices others = channel.decode(broken, frames.known(), IndexCoding::cross_layer, 40);
      EXPECT_EQ(channel.encode(others, frames.known(), IndexCoding::cross_layer), broken);
    }
  EXPECT_GT(refused, 0);
  for (const std::byte more : {std::byte{0}, std::byte{1}, std::byte{0xFF}}) {
    Frame longer = whole;
    longer.push_back(more);
    EXPECT_TRUE(test::mentions(refusal(longer), {"device 2"}));
  }
  Frame huge = whole;
  huge.resize(1000, std::byte{1});
  EXPECT_TRUE(test::mentions(refusal(huge), {"device 2", "1000 bytes"}));
}

TEST(CodedFrame, HeadersThatDoNotFitAreRefused) {
  const Channel channel(256);
  IndexChain chain(256, 13);
  const IndexChain::Frames frames = chain.next(40);
  Frame frame = channel.encode(frames.indices, frames.known(), IndexCoding::cross_layer);
  const auto with_header = [&](unsigned header) {
    frame.front() = static_cast<std::byte>(header);
    return channel.refusal(frame, frames.known(), IndexCoding::cross_layer, 40);
  };

  EXPECT_TRUE(test::mentions(with_header(0x47), {"device 2", "7 bits", "instead of 8"}));
  EXPECT_TRUE(test::mentions(with_header(0x28), {"device 2", "entropy", "cross-layer"}));
  EXPECT_TRUE(test::mentions(with_header(0x08), {"device 2", "bytes instead of 41"}));
  EXPECT_TRUE(test::mentions(with_header(0x68), {"device 2", "no header"}));
  EXPECT_TRUE(test::mentions(with_header(0xC8), {"device 2", "no header"}));
  EXPECT_TRUE(test::mentions(with_header(0x40), {"device 2", "no header"}));
  EXPECT_TRUE(
      test::mentions(channel.refusal({}, {}, IndexCoding::entropy, 0), {"device 2", "empty"}));
  frame.front() = std::byte{0x48};
  EXPECT_TRUE(test::mentions(channel.refusal(frame, {}, IndexCoding::entropy, 40),
                             {"device 2", "cross-layer instead of entropy"}));
}

TEST(CodedFrame, RefusesTablesAndKnownIndicesOfOtherSizes) {
  const Channel channel(64);
  const Indices indices(4, 1), three(3, 1), far(4, 64);
  EXPECT_THROW(channel.encode(indices, {.previous = three}, IndexCoding::cross_layer), Error);
  EXPECT_THROW(channel.encode(indices, {.previous = far}, IndexCoding::cross_layer), Error);
  std::vector<IndexTables> tables;
  Frame frame(100);
  const FrameFormat format{.bits = 5, .codewords = 32};
  EXPECT_THROW(encode_frame(indices, {}, tables, format, IndexCoding::entropy, frame), Error);
  tables.emplace_back(IndexStatistics(64, 64));
  EXPECT_THROW(encode_frame(indices, {}, tables, format, IndexCoding::entropy, frame), Error);
  EXPECT_THROW(
      encode_frame(indices, {}, tables, channel.format(), IndexCoding::entropy, {frame.data(), 3}),
      Error);
}

TEST(CodedFrame, RandomAdversarialAndBrokenFrames) {
  thinwire::test::FrameTrials trials(1);

  for (int i = 0; i < 40000; ++i) ASSERT_NO_THROW(trials.run_one());

  EXPECT_GT(trials.coded, 4000);  // all ways were tried
  EXPECT_GT(trials.fixed, 4000);
  EXPECT_GT(trials.refused, 4000);
  EXPECT_GT(trials.accepted, 1000);
}

}  // namespace
}  // namespace thinwire::compress
