#include "thinwire/tensor/half.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "thinwire/tensor/safetensors.hpp"

namespace thinwire {
namespace {

/// The definition of IEEE binary16, for anything but NaN.
double defined_value(std::uint16_t half) {
  const int exponent = (half >> 10) & 31, mantissa = half & 1023;
  const double sign = (half & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(mantissa, -24);
  return sign * std::ldexp(1024 + mantissa, exponent - 25);
}

bool is_nan(std::uint16_t half) {
  return (half & 0x7fff) > 0x7c00;
}

TEST(Half, EveryValueIsWidenedExactly) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);

    const float value = half_to_float(half);

    if (is_nan(half)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
    } else {
      ASSERT_EQ(value, defined_value(half)) << bits;
      ASSERT_EQ(std::signbit(value), (half & 0x8000) != 0) << bits;
    }
  }
}

TEST(Half, EveryValueIsNarrowedBack) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);

    const std::uint16_t back = float_to_half(half_to_float(half));

    if (is_nan(half))
      ASSERT_TRUE(is_nan(back)) << bits;
    else
      ASSERT_EQ(back, half) << bits;
  }
}

TEST(Half, NarrowingRoundsToNearestTiesToEven) {
  // Between each two neighbours: a float just below the middle, the middle, one just above.
  for (std::uint16_t half = 0; half < 0x7bff; ++half) {
    const float below = half_to_float(half), above = half_to_float(half + 1);
    const float middle = below + (above - below) / 2;  // exact: a half has 13 spare bits
    const std::uint16_t even = (half & 1) == 0 ? half : half + 1;

    ASSERT_EQ(float_to_half(middle), even) << half;
    ASSERT_EQ(float_to_half(std::nextafter(middle, 0.0F)), half) << half;
    ASSERT_EQ(float_to_half(std::nextafter(middle, 1e9F)), half + 1) << half;
    ASSERT_EQ(float_to_half(-middle), even | 0x8000) << half;
  }
}

TEST(Half, NarrowingOverflowsToInfinity) {
  EXPECT_EQ(float_to_half(65504.0F), 0x7bff);  // the largest half
  EXPECT_EQ(float_to_half(std::nextafter(65520.0F, 0.0F)), 0x7bff);
  EXPECT_EQ(float_to_half(65520.0F), 0x7c00);
  EXPECT_EQ(float_to_half(-1e30F), 0xfc00);
  EXPECT_EQ(float_to_half(std::numeric_limits<float>::infinity()), 0x7c00);
  EXPECT_EQ(float_to_half(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(float_to_half(-0.0F), 0x8000);
}

TEST(Half, NarrowingGivesTheGoldenBits) {
  const SafetensorsFile golden(THINWIRE_TEST_DATA "/golden/units.safetensors");
  const auto values = golden.floats("half.x");
  const auto bits = golden.integers("half.bits");

  ASSERT_EQ(values.size(), bits.size());
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(float_to_half(values[i]), static_cast<std::uint16_t>(bits[i])) << values[i];
}

TEST(HalvesToFloats, AgreesWithOneByOneOnOddSizesAndAlignments) {
  std::vector<std::byte> bytes(2 * 65536 + 1);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>((i * 2654435761U) >> 13);
  for (const std::size_t count : {0, 1, 3, 31, 33, 65536})
    for (const std::size_t shift : {0, 1}) {
      std::vector<float> values(count);

      halves_to_floats(std::span(bytes).subspan(shift, 2 * count), values);

      for (std::size_t i = 0; i < count; ++i) {
        const auto low = std::to_integer<unsigned>(bytes[shift + 2 * i]);
        const auto high = std::to_integer<unsigned>(bytes[shift + 2 * i + 1]);
        const float expected = half_to_float(static_cast<std::uint16_t>(low | high << 8));
        ASSERT_EQ(std::bit_cast<std::uint32_t>(values[i]), std::bit_cast<std::uint32_t>(expected))
            << i;
      }
    }
}

TEST(FloatsToHalves, AgreesWithOneByOneOnOddSizes) {
  for (const std::size_t count : {0, 1, 3, 31, 33, 4097}) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i)  // every exponent, infinities and NaN among them
      values[i] = std::bit_cast<float>(static_cast<std::uint32_t>(i * 2654435761U));
    std::vector<std::uint16_t> halves(count);

    floats_to_halves(values, halves);

    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(halves[i], float_to_half(values[i])) << i;
  }
}

TEST(Bfloat16, EveryValueIsWidenedExactlyAndNarrowedBack) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto narrow = static_cast<std::uint16_t>(bits);

    const float value = bfloat16_to_float(narrow);

    ASSERT_EQ(std::bit_cast<std::uint32_t>(value), bits << 16);
    if (std::isnan(value))
      ASSERT_TRUE(std::isnan(bfloat16_to_float(float_to_bfloat16(value)))) << bits;
    else
      ASSERT_EQ(float_to_bfloat16(value), narrow);
  }
}

TEST(Bfloat16, NarrowingRoundsToNearestTiesToEven) {
  const auto narrow = [](std::uint32_t bits) {
    return float_to_bfloat16(std::bit_cast<float>(bits));
  };

  EXPECT_EQ(narrow(0x3f808000), 0x3f80);  // a tie, down to even
  EXPECT_EQ(narrow(0x3f818000), 0x3f82);  // a tie, up to even
  EXPECT_EQ(narrow(0x3f808001), 0x3f81);
  EXPECT_EQ(narrow(0x3f807fff), 0x3f80);
  EXPECT_EQ(narrow(0x7f7fffff), 0x7f80);  // overflows to infinity
  EXPECT_TRUE(std::isnan(bfloat16_to_float(narrow(0x7f800001))));
}

TEST(Bfloat16, ManyAreConvertedAsOneByOneOnOddSizesAndAlignments) {
  std::vector<std::byte> bytes(2 * 65536 + 1);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>((i * 2654435761U) >> 13);
  for (const std::size_t count : {0, 1, 3, 31, 33, 65536})
    for (const std::size_t shift : {0, 1}) {
      std::vector<float> widened(count), values(count);
      for (std::size_t i = 0; i < count; ++i)  // every exponent, infinities and NaN among them
        values[i] = std::bit_cast<float>(static_cast<std::uint32_t>(i * 2654435761U));
      std::vector<std::uint16_t> narrowed(count);

      bfloat16s_to_floats(std::span(bytes).subspan(shift, 2 * count), widened);
      floats_to_bfloat16s(values, narrowed);

      for (std::size_t i = 0; i < count; ++i) {
        const auto low = std::to_integer<unsigned>(bytes[shift + 2 * i]);
        const auto high = std::to_integer<unsigned>(bytes[shift + 2 * i + 1]);
        ASSERT_EQ(std::bit_cast<std::uint32_t>(widened[i]), (low | high << 8) << 16) << i;
        ASSERT_EQ(narrowed[i], float_to_bfloat16(values[i])) << i;
      }
    }
}

}  // namespace
}  // namespace thinwire
