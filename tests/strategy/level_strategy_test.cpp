// Strategies whose level a controller chooses for every frame: what devices decode, and when they
// choose what.
#include <gtest/gtest.h>

#include "support/codebooks.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/compress/index_coding.hpp"
#include "thinwire/strategy/exchange_levels.hpp"

namespace thinwire {
namespace {

using compress::CodebookSet;
using strategy::LevelControl;
using strategy::StrategyOptions;
using test::PassResult;

constexpr Index kCodewords = 64;
constexpr int kFinestBits = 6;

/// Bits of the own frame of every exchange from `first` on, [exchange][device].
std::vector<std::vector<int>> header_bits(const PassResult& pass, std::size_t first) {
  std::vector<std::vector<int>> bits;
  for (std::size_t e = first; e < pass.payloads.size(); ++e) {
    std::vector<int>& devices = bits.emplace_back();
    for (const std::vector<std::byte>& frame : pass.payloads[e])
      devices.push_back(std::to_integer<int>(frame.at(0)));
  }
  return bits;
}

class Levels : public testing::TestWithParam<const char*> {
 protected:
  /// Of a pass after others on a link of `rate`, whose devices are equal or very unequal.
  PassResult run(const char* strategy, std::string_view rate, int devices, LevelControl control,
                 bool is_uneven = false) const {
    const compress::CodebookUse use = test::codebook_use(strategy);
    const CodebookSet codebooks = test::make_random_codebooks(model_, use, kCodewords);
    fabric::FabricOptions options{.clock = fabric::Clock::modelled,
                                  .links = {{.rates = {Rate::parse(rate)}}}};
    for (int p = 0; p < devices; ++p) {
      options.slowness.push_back(is_uneven ? 1 + 20 * p : 1);
      options.device_flops_per_s.push_back(1e8);
    }
    return test::run_pass(model_, strategy, devices,
                          {.codebooks = &codebooks, .level_control = control}, input_, 0, options,
                          /*warmup=*/8);
  }

  model::Model model_ = test::load_model(test::kGoldenFolder / "models" / GetParam());
  model::ModelInput input_ = model::random_input(
      model_.config(), model_.config().is_text() ? 23 : model_.config().tokens, 7);
};

TEST_P(Levels, AFastLinkCostsNothing) {
  for (const char* strategy : {"trace-b", "trace-nb", "trace-2a", "trace-1b"})
    for (const LevelControl control : {LevelControl::adaptive, LevelControl::probing}) {
      SCOPED_TRACE(strategy);
      const PassResult fixed = run(strategy, "unlimited", 3, LevelControl::fixed);
      const PassResult chosen = run(strategy, "unlimited", 3, control);
      EXPECT_TRUE(
          std::ranges::equal(chosen.values.view().elements(), fixed.values.view().elements()));
      EXPECT_EQ(chosen.payloads, fixed.payloads);
    }
}

TEST_P(Levels, ASlowLinkGetsCoarseFrames) {
  for (const char* strategy : {"trace-b", "trace-nb", "trace-2a", "trace-1b"})
    for (const LevelControl control : {LevelControl::adaptive, LevelControl::probing}) {
      SCOPED_TRACE(strategy);
      const std::size_t first = test::codebook_use(strategy).codes_first_exchange ? 0 : 1;
      const PassResult chosen = run(strategy, "1kbps", 3, control);
      int sum = 0, frames = 0;
      for (const std::vector<int>& devices : header_bits(chosen, first))
        for (const int bits : devices) sum += bits, ++frames;
      EXPECT_LE(sum, 3 * frames) << "of " << kFinestBits << ", and few in the mean with trials";
    }
}

/// Every device decodes every sender's frame at that sender's level.
TEST_P(Levels, DevicesThatChooseDifferentlyUnderstandEachOther) {
  for (const char* strategy : {"trace-b", "trace-1b"})
    for (const int devices : {2, 3, 4}) {
      SCOPED_TRACE(testing::Message() << strategy << " on " << devices);
      const PassResult chosen =
          run(strategy, "20kbps", devices, LevelControl::adaptive, /*is_uneven=*/true);
      bool differ = false;
      for (const std::vector<int>& bits : header_bits(chosen, 0))
        differ |= std::ranges::min(bits) != std::ranges::max(bits);
      EXPECT_TRUE(differ) << "windows of 1 to " << 1 + 20 * (devices - 1);
      const CodebookSet codebooks =
          test::make_random_codebooks(model_, test::codebook_use(strategy), kCodewords);
      for (std::size_t e = 0; e < chosen.quantised.size(); ++e)
        for (std::size_t p = 0; p < chosen.quantised[e].size(); ++p) {
          const auto& [rows, indices] = chosen.quantised[e][p];
          const int bits = std::to_integer<int>(chosen.payloads[e][p].at(0));
          ASSERT_FALSE(indices.empty());
          EXPECT_LT(std::ranges::max(indices), 1 << bits);
          EXPECT_EQ(std::ssize(chosen.payloads[e][p]),
                    compress::frame_size(std::ssize(indices), bits, true).bytes());
        }
    }
}

TEST_P(Levels, ALevelIsNotBothGivenAndChosen) {
  const CodebookSet codebooks =
      test::make_random_codebooks(model_, test::codebook_use("trace-b"), kCodewords);
  EXPECT_THROW(
      test::run_pass(model_, "trace-b", 2,
                     {.codebooks = &codebooks, .level = 1, .level_control = LevelControl::adaptive},
                     input_),
      Error);
}

INSTANTIATE_TEST_SUITE_P(Models, Levels,
                         testing::Values("vit-tiny", "bert-tiny", "gpt2-tiny", "vivit-tiny"));

TEST(ExchangeLevels, ReadsAFramesLevelFromItsHeader) {
  const model::Model model = test::load_model(test::kGoldenFolder / "models" / "vit-tiny");
  const CodebookSet codebooks =
      test::make_random_codebooks(model, test::codebook_use("trace-b"), kCodewords);
  strategy::ExchangeLevels levels(LevelControl::adaptive, codebooks, 2, 2);
  const auto codewords_of = [&](int header) {
    const std::byte frame{static_cast<unsigned char>(header)};
    return codebooks.levels()[static_cast<std::size_t>(levels.level_of(0, {&frame, 1}, 1))];
  };

  EXPECT_EQ(codewords_of(kFinestBits), kCodewords);
  EXPECT_EQ(codewords_of(3), 8);
  EXPECT_EQ(codewords_of(3 | 0x20), 8) << "the bits above tell the coding";
  EXPECT_THROW(codewords_of(4), Error) << "no level has 16 codewords";
  EXPECT_THROW(codewords_of(0), Error);
  EXPECT_THROW(levels.level_of(0, {}, 1), Error);
}

}  // namespace
}  // namespace thinwire
