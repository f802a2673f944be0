#include "thinwire/harness/payload_sizes.hpp"

#include <gtest/gtest.h>

#include "thinwire/base/error.hpp"

namespace thinwire::harness {
namespace {

using Sizes = std::vector<std::int64_t>;

TEST(PayloadSizes, AreWholeBytesOnTheLink) {
  EXPECT_EQ(parse_payload_sizes("14B,107bit"), Sizes{14});  // 13.4 bytes are 14
  EXPECT_EQ(parse_payload_sizes("1bit,8bit,9 bit,2kB"), (Sizes{1, 2, 2000}));
}

TEST(PayloadSizes, RangesHaveBothEnds) {
  EXPECT_EQ(parse_payload_sizes("10B..1000B:log:3"), (Sizes{10, 100, 1000}));
  EXPECT_EQ(parse_payload_sizes("10B..30B:lin:3"), (Sizes{10, 20, 30}));

  const Sizes sizes = parse_payload_sizes("107bit..300kB:log:8");

  EXPECT_EQ(sizes.size(), 8U);
  EXPECT_EQ(sizes.front(), 14);
  EXPECT_EQ(sizes.back(), 300'000);
}

TEST(PayloadSizes, NarrowRangesKeepEverySizeOnce) {
  EXPECT_EQ(parse_payload_sizes("1bit..16bit:lin:16"), (Sizes{1, 2}));
}

TEST(PayloadSizes, RefusesWhatIsNone) {
  for (const char* text : {"", "0B", "0bit", "-3B", "5", "bit", "3Mbps", "1kB..2kB",
                           "2kB..1kB:log:3", "1kB..2kB:log:1", "1e30B", "1B,,2B", "nanbit"})
    EXPECT_THROW(parse_payload_sizes(text), InputError) << text;
}

}  // namespace
}  // namespace thinwire::harness
