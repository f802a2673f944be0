#include "thinwire/base/operations.hpp"

#include <gtest/gtest.h>

#include "thinwire/base/error.hpp"

namespace thinwire {
namespace {

constexpr Operations kOneOfEach = {1, 10, 100, 1000, 10'000, 100'000};

TEST(Operations, ConventionsCountTheirKinds) {
  EXPECT_EQ(flops(kOneOfEach, Convention::mac), 1);
  EXPECT_EQ(flops(kOneOfEach, Convention::paper), 2 + 50);
  EXPECT_EQ(flops(kOneOfEach, Convention::full), 2 + 50 + 500 + 8000 + 10'000 + 100'000);
}

TEST(Operations, AddKindByKind) {
  const Operations sum = kOneOfEach + kOneOfEach;

  EXPECT_EQ(sum, (Operations{2, 20, 200, 2000, 20'000, 200'000}));
}

TEST(Operations, SubtractWhatWasAdded) {
  EXPECT_EQ(kOneOfEach + kOneOfEach - kOneOfEach, kOneOfEach);
}

TEST(Operations, GiveThePapersCountOfVitBase) {
  // ViT-B/16, 197 tokens, single device: ACCOUNTING 1's formulas give 35,146,568,448 FLOPs.
  const std::int64_t n = 197, d = 768, f = 3072, blocks = 12;
  Operations operations;
  operations.matmul_macs =
      blocks * (4 * n * d * d + 2 * n * n * d + 2 * n * d * f) + 196 * 768 * 768 + d * 1000;
  operations.layer_norm_elements = (2 * blocks + 1) * n * d;

  EXPECT_EQ(flops(operations, Convention::paper), 35'146'568'448);
}

TEST(Convention, NamesAreReadBack) {
  for (const auto convention : {Convention::paper, Convention::mac, Convention::full})
    EXPECT_EQ(parse_convention(to_string(convention)), convention);
}

TEST(Convention, UnknownNameIsAnsweredWithTheKnownOnes) {
  try {
    parse_convention("papr");
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "convention=papr is unknown (did you mean paper?); known: paper, mac, full");
  }
}

}  // namespace
}  // namespace thinwire
