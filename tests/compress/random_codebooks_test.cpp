#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "compress/codebook_fixtures.hpp"
#include "support/messages.hpp"
#include "thinwire/compress/hierarchy.hpp"

namespace thinwire::compress {
namespace {

using test::astra;
using test::input_error;
using test::mentions;

const model::ModelConfig kVit = model::preset("vit-base-16");

bool are_equal(const Matrix<float>& a, const Matrix<float>& b) {
  return std::ranges::equal(a.view().elements(), b.view().elements());
}

TEST(RandomCodebooks, DependOnSeedExchangeAndGroupAlone) {
  const auto one = random_codebooks(kVit, astra(16), 32, 1);
  const auto same = random_codebooks(kVit, astra(16), 32, 1);
  const auto other = random_codebooks(kVit, astra(16), 32, 2);
  const Matrix<float> values = one->values(3, 5);

  EXPECT_TRUE(are_equal(values, same->values(3, 5)));
  EXPECT_FALSE(are_equal(values, one->values(3, 6)));
  EXPECT_FALSE(are_equal(values, one->values(4, 5)));
  EXPECT_FALSE(are_equal(values, other->values(3, 5)));
  EXPECT_EQ(one->fingerprint(), same->fingerprint());
  EXPECT_NE(one->fingerprint(), other->fingerprint());
  EXPECT_EQ(one->fingerprint().size(), 16U);
}

TEST(RandomCodebooks, HaveDeviationOneAndTheGroupsWidth) {
  const Matrix<float> values = random_codebooks(kVit, astra(16), 1024, 7)->values(0, 0);

  double squares = 0;
  for (const float value : values.view().elements()) squares += double{value} * value;

  EXPECT_EQ(values.rows(), 1024);
  EXPECT_EQ(values.cols(), 48);
  // The mean square of 49152 uniform values of variance 1 deviates by 0.004.
  EXPECT_NEAR(squares / static_cast<double>(values.view().size()), 1.0, 0.02);
}

TEST(RandomCodebooks, HaveTheDefaultLevelsAndForAstraOne) {
  EXPECT_EQ(random_codebooks(kVit, test::kTraceB, 1024, 1)->levels(), default_levels(1024));
  EXPECT_EQ(random_codebooks(kVit, astra(1), 1024, 1)->levels(), std::vector<Index>{1024});
}

TEST(RandomCodebooks, RefuseWhatCannotBeIndexedOrDivided) {
  EXPECT_TRUE(mentions(input_error([] { random_codebooks(kVit, test::kTraceB, 1, 1); }),
                       {"--codewords=1", "2 to 65536"}));
  EXPECT_TRUE(mentions(input_error([] { random_codebooks(kVit, test::kTraceB, 65537, 1); }),
                       {"--codewords=65537", "2 to 65536"}));
  EXPECT_TRUE(mentions(input_error([] { random_codebooks(kVit, astra(5), 1024, 1); }),
                       {"--groups=5", "768", "vit-base-16"}));
}

}  // namespace
}  // namespace thinwire::compress
