#include "thinwire/base/units.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "thinwire/base/error.hpp"

namespace thinwire {
namespace {

/// The message with which `parse` refuses `text`, or "" when it does not.
template <class Quantity>
std::string refusal(std::string_view text) {
  try {
    Quantity::parse(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Rate, ParsesDecimalAndBinaryUnits) {
  EXPECT_EQ(Rate::parse("10Mbps").bit_per_s(), 10e6);
  EXPECT_EQ(Rate::parse("2.5 Gbps").bit_per_s(), 2.5e9);
  EXPECT_EQ(Rate::parse("250kbit/s").bit_per_s(), 250e3);
  EXPECT_EQ(Rate::parse("9600bps").bit_per_s(), 9600);
  EXPECT_EQ(Rate::parse("1bit/s").bit_per_s(), 1);
  EXPECT_EQ(Rate::parse("1Gbit/s").bit_per_s(), 1e9);
  EXPECT_EQ(Rate::parse("10Mibps").bit_per_s(), 10.0 * 1024 * 1024);
  EXPECT_EQ(Rate::parse("1Kibps").bit_per_s(), 1024);
  EXPECT_EQ(Rate::parse("1Gibps").bit_per_s(), 1024.0 * 1024 * 1024);
  EXPECT_TRUE(Rate::parse("unlimited").is_unlimited());
}

TEST(Rate, AcceptsAnotherCaseOfThePrefix) {
  EXPECT_EQ(Rate::parse("10mbps"), Rate::parse("10Mbps"));
  EXPECT_EQ(Rate::parse("10Kbps"), Rate::parse("10kbps"));
}

TEST(Rate, RefusesEachMistakeWithItsReason) {
  const std::string right = " (write 10Mbps, 250kbps or unlimited)";
  EXPECT_EQ(refusal<Rate>("10"), "rate=10 has no unit" + right);
  EXPECT_EQ(refusal<Rate>("0Mbps"), "rate=0Mbps is not positive" + right);
  EXPECT_EQ(refusal<Rate>("-5Mbps"), "rate=-5Mbps is not positive" + right);
  EXPECT_EQ(refusal<Rate>("fast"), "rate=fast is not a rate" + right);
  EXPECT_EQ(refusal<Rate>("10MBps"), "rate=10MBps is in bytes, a rate is in bits" + right);
  EXPECT_EQ(refusal<Rate>("10furlongs"), "rate=10furlongs has the unknown unit furlongs" + right);
  EXPECT_EQ(refusal<Rate>("1e999bps"), "rate=1e999bps is out of the range of numbers" + right);
}

TEST(Rate, RefusesWhatOnlyLooksLikeANumber) {
  for (const std::string_view text : {"", " ", "-", ".", "inf", "infMbps", "nanMbps", "Mbps",
                                      "1.2.3Mbps", "10 10Mbps", "--1Mbps", "+-1Mbps", "0x10Mbps"})
    EXPECT_NE(refusal<Rate>(text), "") << text;
}

TEST(Rate, RefusesANumberThatIsNoRate) {
  EXPECT_THROW(Rate::bits_per_second(0), InputError);
  EXPECT_THROW(Rate::bits_per_second(-1), InputError);
  EXPECT_THROW(Rate::bits_per_second(std::numeric_limits<double>::quiet_NaN()), InputError);
}

TEST(Rate, PrintsTheLargestUnitBelowTheValue) {
  EXPECT_EQ(to_string(Rate::bits_per_second(10e6)), "10 Mbps");
  EXPECT_EQ(to_string(Rate::bits_per_second(250e3)), "250 kbps");
  EXPECT_EQ(to_string(Rate::bits_per_second(2.5e9)), "2.5 Gbps");
  EXPECT_EQ(to_string(Rate::bits_per_second(12)), "12 bps");
  EXPECT_EQ(to_string(Rate::unlimited()), "unlimited");
}

TEST(Rate, PrintsWhatItParsesBackToTheSameValue) {
  double bit_per_s = 0.3;
  for (int i = 0; i < 2000; ++i, bit_per_s *= 1.0173) {
    const Rate rate = Rate::bits_per_second(bit_per_s);

    EXPECT_EQ(Rate::parse(to_string(rate)), rate) << to_string(rate);
  }
  EXPECT_TRUE(Rate::parse(to_string(Rate::unlimited())).is_unlimited());
}

TEST(Rate, GivesTheSecondsForBits) {
  EXPECT_EQ(Rate::parse("10Mbps").seconds_for(5e6), 0.5);
  EXPECT_EQ(Rate::unlimited().seconds_for(5e6), 0);
}

TEST(Seconds, ParsesItsUnits) {
  EXPECT_DOUBLE_EQ(Seconds::parse("2ms").value_s(), 2e-3);
  EXPECT_DOUBLE_EQ(Seconds::parse("150us").value_s(), 150e-6);
  EXPECT_DOUBLE_EQ(Seconds::parse("150\u00b5s").value_s(), 150e-6);
  EXPECT_DOUBLE_EQ(Seconds::parse("30 ns").value_s(), 30e-9);
  EXPECT_EQ(Seconds::parse("1.5s").value_s(), 1.5);
  EXPECT_EQ(Seconds::parse("2min").value_s(), 120);
  EXPECT_EQ(Seconds::parse("0s").value_s(), 0);
  EXPECT_EQ(Seconds::parse("0").value_s(), 0);
}

TEST(Seconds, RefusesEachMistakeWithItsReason) {
  const std::string right = " (write 2ms, 150us or 1.5s)";
  EXPECT_EQ(refusal<Seconds>("2"), "time=2 has no unit" + right);
  EXPECT_EQ(refusal<Seconds>("-2ms"), "time=-2ms is negative" + right);
  EXPECT_EQ(refusal<Seconds>("soon"), "time=soon is not a time" + right);
  EXPECT_EQ(refusal<Seconds>("2Mbps"), "time=2Mbps has the unknown unit Mbps" + right);
}

TEST(Seconds, PrintsThreeDigits) {
  EXPECT_EQ(to_string(Seconds(1.5e-3)), "1.5 ms");
  EXPECT_EQ(to_string(Seconds(32e-6)), "32 us");
  EXPECT_EQ(to_string(Seconds(0.123456)), "123 ms");
  EXPECT_EQ(to_string(Seconds(5e-9)), "5 ns");
  EXPECT_EQ(to_string(Seconds(0)), "0 s");
  EXPECT_EQ(to_string(Seconds(-0.25)), "-250 ms");
}

TEST(Seconds, CarriesIntoTheNextUnitWhenRounding) {
  EXPECT_EQ(to_string(Seconds(999.4e-6)), "999 us");
  EXPECT_EQ(to_string(Seconds(999.9e-6)), "1 ms");
  EXPECT_EQ(to_string(Seconds(59.94)), "59.9 s");
  EXPECT_EQ(to_string(Seconds(59.96)), "1 min 0 s");
  EXPECT_EQ(to_string(Seconds(123)), "2 min 3 s");
  EXPECT_EQ(to_string(Seconds(3599.7)), "1 h 0 min");
  EXPECT_EQ(to_string(Seconds(3600 * 5 + 60 * 7)), "5 h 7 min");
}

TEST(Bytes, ParsesItsUnits) {
  EXPECT_EQ(Bytes::parse("512MB").count(), 512'000'000);
  EXPECT_EQ(Bytes::parse("1.5GiB").count(), 3LL << 29);
  EXPECT_EQ(Bytes::parse("64kB").count(), 64'000);
  EXPECT_EQ(Bytes::parse("1.1 kB").count(), 1100);
  EXPECT_EQ(Bytes::parse("1000000B").count(), 1'000'000);
  EXPECT_EQ(Bytes::parse("0B").count(), 0);
}

TEST(Bytes, RefusesEachMistakeWithItsReason) {
  const std::string right = " (write 512MB, 1.5GiB or 64kB)";
  EXPECT_EQ(refusal<Bytes>("512"), "size=512 has no unit" + right);
  EXPECT_EQ(refusal<Bytes>("-1MB"), "size=-1MB is negative" + right);
  EXPECT_EQ(refusal<Bytes>("much"), "size=much is not a size" + right);
  EXPECT_EQ(refusal<Bytes>("512Mb"), "size=512Mb has the unknown unit Mb" + right);
  EXPECT_EQ(refusal<Bytes>("1e10GB"), "size=1e10GB is out of the range of numbers" + right);
}

TEST(Bytes, PrintsThreeDigitsWithDecimalPrefixes) {
  EXPECT_EQ(to_string(Bytes(344'123'456)), "344 MB");
  EXPECT_EQ(to_string(Bytes(999'600)), "1 MB");
  EXPECT_EQ(to_string(Bytes(1500)), "1.5 kB");
  EXPECT_EQ(to_string(Bytes(0)), "0 B");
  EXPECT_EQ(to_string(Bytes(-2000)), "-2 kB");
  EXPECT_EQ(to_string(Bytes(5'000'000'000'000'000)), "5000 TB");
}

}  // namespace
}  // namespace thinwire
