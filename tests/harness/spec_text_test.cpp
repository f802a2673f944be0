#include "thinwire/harness/spec_text.hpp"
#include "thinwire/base/json.hpp"

#include <gtest/gtest.h>

#include "thinwire/base/error.hpp"

namespace thinwire::harness {
namespace {

TEST(ExactText, IsReadBackAsTheSameValue) {
  for (const double value : {1.0, 999.0, 2154435.0, 1e7, 1.5e9, 123456789.0, 0.1})
    EXPECT_EQ(Rate::parse(exact_text(Rate::bits_per_second(value))).bit_per_s(), value);
  for (const double value : {0.0, 1e-6, 0.002, 0.0021, 1.5, 600.0, 1.0 / 3, 3e-9})
    EXPECT_EQ(Seconds::parse(exact_text(Seconds(value))), Seconds(value)) << value;
  for (const std::int64_t count : {1LL, 1000LL, 1'500'000LL, 123'456'789LL, 1'610'612'736LL})
    EXPECT_EQ(Bytes::parse(exact_text(Bytes(count))), Bytes(count)) << count;
}

TEST(ExactText, UsesTheUnitThatReadsWell) {
  EXPECT_EQ(exact_text(Rate::bits_per_second(1e7)), "10Mbps");
  EXPECT_EQ(exact_text(Rate::unlimited()), "unlimited");
  EXPECT_EQ(exact_text(Seconds(0.002)), "2ms");
  EXPECT_EQ(exact_text(Bytes(512'000'000)), "512MB");
}

TEST(ParseRange, UnderstandsThreeForms) {
  const auto steps = parse_range("2..5");
  const auto linear = parse_range("100Mbps..1000Mbps:lin:10");
  const auto logarithmic = parse_range("1..100:log:3");

  EXPECT_EQ(range_values(*steps, 2, 5), (std::vector<double>{2, 3, 4, 5}));
  EXPECT_EQ(linear->first, "100Mbps");
  EXPECT_EQ(range_values(*linear, 100, 1000)[1], 200);
  const std::vector<double> values = range_values(*logarithmic, 1, 100);
  ASSERT_EQ(values.size(), 3U);
  EXPECT_DOUBLE_EQ(values[1], 10);
  EXPECT_EQ(values[2], 100);
  EXPECT_FALSE(parse_range("10Mbps:1Mbps"));
}

TEST(ParseRange, RefusesMalformedOnes) {
  for (const char* text : {"..5", "2..", "2..5:lin", "2..5:cube:3", "2..5:lin:1", "2..5:log:x"})
    EXPECT_THROW(parse_range(text), InputError) << text;
  EXPECT_THROW(range_values(*parse_range("5..2"), 5, 2), InputError);
  EXPECT_THROW(range_values(*parse_range("0..2:log:3"), 0, 2), InputError);
}

TEST(ListValues, AreThoseOfEveryValueAndRange) {
  EXPECT_EQ(list_values("7,1..3,10..1000:log:3", parse_number),
            (std::vector<double>{7, 1, 2, 3, 10, 100, 1000}));
  EXPECT_THROW(list_values("", parse_number), InputError);
  EXPECT_THROW(list_values("1,,2", parse_number), InputError);
}

TEST(FlagText, WritesJsonAsAFlagWouldBe) {
  EXPECT_EQ(flag_text(Json::parse("3")), "3");
  EXPECT_EQ(flag_text(Json::parse("2.5")), "2.5");
  EXPECT_EQ(flag_text(Json::parse("true")), "on");
  EXPECT_EQ(flag_text(Json::parse(R"(["10Mbps", "1Gbps"])")), "10Mbps,1Gbps");
  EXPECT_THROW(flag_text(Json::parse("{}")), InputError);
  EXPECT_THROW(flag_text(Json::parse("[[1]]")), InputError);
}

}  // namespace
}  // namespace thinwire::harness
