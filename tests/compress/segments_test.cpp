#include "thinwire/compress/segments.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "thinwire/base/error.hpp"

namespace thinwire::compress {
namespace {

std::string input_error_of(auto&& f) {
  try {
    f();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(SegmentLengths, LastSegmentTakesTheRemainder) {
  EXPECT_EQ(segment_lengths(11, 3), (std::vector<Index>{3, 3, 5}));
  EXPECT_EQ(segment_lengths(7, 7), std::vector<Index>(7, 1));
  EXPECT_EQ(segment_lengths(197, 1), std::vector<Index>{197});
}

TEST(SegmentLengths, TileTheRowsForEveryShape) {
  for (Index rows = 1; rows <= 40; ++rows)
    for (Index segments = 1; segments <= rows; ++segments) {
      const std::vector<Index> lengths = segment_lengths(rows, segments);

      Index begin = 0;
      for (Index s = 0; s < segments; ++s) {
        const Slice expected{begin, lengths[static_cast<std::size_t>(s)]};
        EXPECT_EQ(segment_rows(rows, segments, s), expected) << rows << " rows, L=" << segments;
        EXPECT_GE(expected.size, rows / segments);
        begin = expected.end();
      }
      EXPECT_EQ(std::ssize(lengths), segments);
      EXPECT_EQ(begin, rows);
    }
}

TEST(SegmentLengths, RefuseMoreSegmentsThanTokensAndNameBoth) {
  const std::string message = input_error_of([] { segment_lengths(98, 99); });

  EXPECT_NE(message.find("segments=99"), std::string::npos) << message;
  EXPECT_NE(message.find("98 tokens"), std::string::npos) << message;
  EXPECT_THROW(segment_lengths(98, 0), InputError);
  EXPECT_THROW(segment_lengths(98, -1), InputError);
}

TEST(SegmentsForRate, FollowsThePaperForTheGpt2Rows) {
  const std::vector<Index> two_devices = {64, 42, 32, 25, 21, 18, 16, 14, 12};
  const std::vector<Index> three_devices = {42, 28, 21, 17, 14, 12, 10, 9, 8};
  for (int rate = 2; rate <= 10; ++rate) {
    const auto row = static_cast<std::size_t>(rate - 2);
    EXPECT_EQ(segments_for_rate(256, 2, rate), two_devices[row]) << "CR=" << rate;
    EXPECT_EQ(segments_for_rate(256, 3, rate), three_devices[row]) << "CR=" << rate;
  }
}

TEST(SegmentsForRate, IsAtLeastOneAndAtMostAPartition) {
  EXPECT_EQ(segments_for_rate(197, 3, 1000), 1);
  EXPECT_EQ(segments_for_rate(197, 3, 1), 65);
  EXPECT_EQ(segments_for_rate(256, 2, 1), 128);
}

TEST(SegmentsForRate, SurvivesDecimalsThatHaveNoExactDouble) {
  // Every rate of one decimal whose quotient N / (CR * P) is an integer q: 10 * N = q * tenths * P.
  for (Index tokens = 1; tokens <= 300; ++tokens)
    for (int devices = 1; devices <= 10; ++devices)
      for (Index tenths = 10; tenths <= 200; ++tenths)
        if (10 * tokens % (tenths * devices) == 0) {
          const double rate = static_cast<double>(tenths) / 10.0;
          EXPECT_EQ(segments_for_rate(tokens, devices, rate), 10 * tokens / (tenths * devices))
              << tokens << " tokens, P=" << devices << ", CR=" << rate;
        }
}

TEST(SegmentsForRate, RefusesRatesBelowOne) {
  for (const double rate : {0.99, 0.0, -3.0, std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_THROW(segments_for_rate(197, 2, rate), InputError) << rate;
}

TEST(Scaling, NamesAreReadBackAndUnknownOnesListed) {
  for (const Scaling scaling : {Scaling::on, Scaling::off, Scaling::duplicate})
    EXPECT_EQ(parse_scaling(to_string(scaling)), scaling);

  const std::string message = input_error_of([] { parse_scaling("duplicated"); });

  EXPECT_NE(message.find("scaling=duplicated"), std::string::npos) << message;
  EXPECT_NE(message.find("did you mean duplicate?"), std::string::npos) << message;
}

}  // namespace
}  // namespace thinwire::compress
