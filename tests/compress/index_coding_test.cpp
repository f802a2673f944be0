#include "thinwire/compress/index_coding.hpp"

#include <gtest/gtest.h>

#include "support/messages.hpp"

namespace thinwire::compress {
namespace {

TEST(IndexBits, AreTheFewestThatHoldEveryIndex) {
  EXPECT_EQ(index_bits(1), 1);
  for (int bits = 1; bits <= 16; ++bits) {
    const Index most = Index{1} << bits;
    EXPECT_EQ(index_bits(most), bits) << most << " codewords";
    EXPECT_EQ(index_bits(most / 2 + 1), bits) << most / 2 + 1 << " codewords";
  }
}

TEST(IndexBits, RefuseWhatHasNoIndex) {
  for (const Index codewords : {-1, 0, 65537}) EXPECT_THROW(index_bits(codewords), Error);
}

TEST(IndexFrameSize, IsWholeBytesWithTheFewestUnusedBits) {
  for (int bits = 1; bits <= 16; ++bits)
    for (Index count = 0; count <= 33; ++count)
      for (const bool has_header : {false, true}) {
        SCOPED_TRACE(testing::Message() << count << " fields of " << bits << " bits");
        const FrameSize size = frame_size(count, bits, has_header);

        EXPECT_EQ(size.payload_bits, count * bits);
        EXPECT_EQ(size.header_bits, has_header ? 8 : 0);
        EXPECT_TRUE(size.padding_bits >= 0 && size.padding_bits < 8);
        EXPECT_EQ(size.bytes() * 8, size.payload_bits + size.header_bits + size.padding_bits);
      }
}

TEST(IndexFrameSize, GivesTheCompressionRatesThatTracePrints) {
  // ViT-B/16 at P = 2: 98.5 rows of 768 fp32 values; TRACE sends 99 indices and a header.
  const auto ratio = [](Index codewords) {
    const FrameSize size = frame_size(99, index_bits(codewords), true);
    return 32.0 * 768 * 98.5 / static_cast<double>(size.payload_bits + size.header_bits);
  };
  EXPECT_NEAR(ratio(1024), 2426, 0.5);
  EXPECT_NEAR(ratio(32), 4813, 0.5);
  EXPECT_NEAR(ratio(8), 7937, 0.5);
  EXPECT_NEAR(ratio(2), 22624, 0.5);
  EXPECT_NEAR(32.0 * 768 * 98.5 / static_cast<double>(frame_size(99, 16, false).payload_bits), 1528,
              0.5);
}

TEST(IndexFrameSize, OfACodedFrameIsWhatItsTablesExpectAndAtMostTheFixedOne) {
  EXPECT_EQ(expected_frame_size(10, 9, 2.25),
            (FrameSize{.payload_bits = 23, .header_bits = 8, .padding_bits = 1}));
  EXPECT_EQ(expected_frame_size(10, 9, 9.5), frame_size(10, 9, true));
  EXPECT_EQ(expected_frame_size(0, 9, 2.25).bytes(), 1);
}

TEST(IndexFrameSize, RefusesImpossibleFields) {
  EXPECT_THROW(frame_size(-1, 8, true), Error);
  EXPECT_THROW(frame_size(1, 0, true), Error);
  EXPECT_THROW(frame_size(1, 17, true), Error);
}

TEST(IndexCoding, NamesAreReadBackAndUnknownOnesListed) {
  for (const IndexBits bits : {IndexBits::wide, IndexBits::packed})
    EXPECT_EQ(parse_index_bits(to_string(bits)), bits);
  for (const Buffers buffers : {Buffers::kv, Buffers::hidden, Buffers::off})
    EXPECT_EQ(parse_buffers(to_string(buffers)), buffers);

  EXPECT_TRUE(test::mentions(test::input_error([] { parse_index_bits("32"); }),
                             {"index-bits=32", "16", "packed"}));
  EXPECT_TRUE(test::mentions(test::input_error([] { parse_buffers("hiden"); }),
                             {"buffers=hiden", "did you mean hidden?"}));
}

TEST(CodebookUse, SaysWhatIsCodedAndByWhichDistance) {
  CodebookUse use{.published = Published::attention_output, .codes_first_exchange = false};
  EXPECT_FALSE(use.is_squared());
  EXPECT_FALSE(use.codes(0));
  EXPECT_TRUE(use.codes(1));

  use = {.published = Published::block_output};
  EXPECT_TRUE(use.is_squared());
  EXPECT_TRUE(use.codes(0));
}

TEST(IndexCoding, IsCrossLayerWhereSenderAndReceiversKnowTheIndexBefore) {
  constexpr auto kFixed = IndexCoding::fixed, kEntropy = IndexCoding::entropy,
                 kCross = IndexCoding::cross_layer;
  const CodebookUse all, but_first{.codes_first_exchange = false};

  EXPECT_EQ(coding_of(kCross, all, 0, false), kEntropy);
  EXPECT_EQ(coding_of(kCross, all, 1, false), kCross);
  EXPECT_EQ(coding_of(kCross, but_first, 1, false), kEntropy);
  EXPECT_EQ(coding_of(kCross, but_first, 2, false), kCross);
  // A terminal makes exchange 0.
  EXPECT_EQ(coding_of(kCross, all, 0, true), kFixed);
  EXPECT_EQ(coding_of(kCross, all, 1, true), kEntropy);
  EXPECT_EQ(coding_of(kCross, all, 2, true), kCross);
  for (const Index exchange : {0, 1, 2}) {
    EXPECT_EQ(coding_of(kFixed, all, exchange, false), kFixed);
    EXPECT_EQ(coding_of(kEntropy, all, exchange, false), kEntropy);
  }
}

}  // namespace
}  // namespace thinwire::compress
