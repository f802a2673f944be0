#include "thinwire/harness/chosen_levels.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace thinwire::harness {
namespace {

void publish(FrameCounter& counter, Index exchange, int header) {
  const std::byte frame[] = {static_cast<std::byte>(header), std::byte{0}};
  counter.on_published(exchange, frame);
}

TEST(FrameCounter, CountsCodedFramesByTheBitsOfTheirHeaders) {
  FrameCounter counter({.codes_first_exchange = false});
  publish(counter, 0, 7);  // raw rows
  publish(counter, 1, 9);
  publish(counter, 2, 9 | 0x20);  // coded otherwise
  publish(counter, 3, 1);
  counter.on_published(3, {});

  EXPECT_EQ(counter.frames()[9], 2);
  EXPECT_EQ(counter.frames()[1], 1);
  EXPECT_EQ(counter.frames()[7], 0);
  EXPECT_EQ(mean_index_bits(counter.frames()), 19.0 / 3);
  counter.reset();
  EXPECT_TRUE(std::isnan(mean_index_bits(counter.frames())));
}

TEST(FramesByLevel, GivesFramesOfEqualBitsToTheFinestLevel) {
  FramesByBits frames{};
  frames[1] = 3;
  frames[2] = 5;
  frames[9] = 7;

  EXPECT_EQ(frames_by_level(frames, std::vector<Index>{2, 3, 4, 512}),
            (std::vector<std::int64_t>{3, 0, 5, 7}));
}

TEST(AtCoarsestLevel, FixesIt) {
  RunSpec spec;
  spec.level_control = strategy::LevelControl::probing;
  const RunSpec coarsest = at_coarsest_level(spec, std::vector<Index>{2, 8, 32});

  EXPECT_EQ(coarsest.level_control, strategy::LevelControl::fixed);
  EXPECT_EQ(coarsest.level, 0);
  EXPECT_EQ(coarsest.active_codewords, 2);
}

}  // namespace
}  // namespace thinwire::harness
