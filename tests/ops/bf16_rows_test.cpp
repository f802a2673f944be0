#include "bf16_rows.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "thinwire/ops/runtime.hpp"
#include "thinwire/tensor/half.hpp"

namespace thinwire::ops {
namespace {

/// Every upper half, and lower halves around those where rounding goes one way or the other.
std::vector<float> telling_values() {
  std::vector<float> values;
  for (std::uint32_t upper = 0; upper <= 0xffffU; ++upper)
    for (const std::uint32_t lower : {0x0000U, 0x0001U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU})
      values.push_back(std::bit_cast<float>(upper << 16 | lower));
  return values;
}

void expect_rounded(const std::vector<float>& values, const std::uint16_t* rounded) {
  int wrong = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    wrong += rounded[i] != float_to_bfloat16(values[i]) ? 1 : 0;
  EXPECT_EQ(wrong, 0);
}

TEST(Bf16Rows, RoundEveryValueToNearestAndTiesToEven) {
  const std::vector<float> values = telling_values();
  const int before = threads();
  for (const int count : {1, 2, 3}) {
    set_threads(count);
    std::vector<std::uint16_t> rounded(values.size());

    round_to_bf16(values.data(), std::ssize(values), rounded.data());

    expect_rounded(values, rounded.data());
  }
  set_threads(before);
}

TEST(Bf16Rows, AreKeptUntilTheThreadsNextOnes) {
  const std::vector<float> few = {1.0F, 1.00390625F, 1.01171875F};  // ties go to the even neighbour
  const std::vector<float> many = telling_values();

  expect_rounded(few, as_bf16(few.data(), std::ssize(few)));
  expect_rounded(many, as_bf16(many.data(), std::ssize(many)));
  const std::uint16_t* const again = as_bf16(few.data(), std::ssize(few));

  EXPECT_EQ(bfloat16_to_float(again[1]), 1.0F);
  EXPECT_EQ(bfloat16_to_float(again[2]), 1.015625F);
}

}  // namespace
}  // namespace thinwire::ops
