#include "link_shim/port.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace thinwire::link_shim {
namespace {

TEST(Port, ServesAtOnceWhenFree) {
  Port port;

  EXPECT_DOUBLE_EQ(port.free_s(), 0);
  EXPECT_DOUBLE_EQ(port.serve(3, 2), 5);
  EXPECT_DOUBLE_EQ(port.serve(7, 1), 8);
  EXPECT_DOUBLE_EQ(port.free_s(), 8);
}

TEST(Port, MessagesOfOneTimeShareIt) {
  Port port;

  EXPECT_DOUBLE_EQ(port.serve(0, 10), 10);
  EXPECT_DOUBLE_EQ(port.serve(0, 10), 20);
  EXPECT_DOUBLE_EQ(port.serve(0, 10), 30);
}

TEST(Port, AskedForLateAnEarlierMessageTakesTheGapBefore) {
  Port port;

  EXPECT_DOUBLE_EQ(port.serve(10, 10), 20);
  EXPECT_DOUBLE_EQ(port.serve(0, 10), 10);
  EXPECT_DOUBLE_EQ(port.free_s(), 20);
}

TEST(Port, AMessageGoesRoundThoseInItsWay) {
  Port port;
  port.serve(5, 1);
  port.serve(8, 2);

  EXPECT_DOUBLE_EQ(port.serve(0, 10), 13);  // 5, then 2 between the two, then 3 behind them
  EXPECT_DOUBLE_EQ(port.serve(0, 1), 14);   // nothing is free before
}

TEST(Port, AMessageThatStartsInABusyTimeWaitsForItsRest) {
  Port port;
  port.occupy(0, 10);

  EXPECT_DOUBLE_EQ(port.serve(4, 3), 13);
}

TEST(Port, NothingNeedsNoTime) {
  Port port;
  port.occupy(0, 10);
  port.occupy(20, 20);

  EXPECT_DOUBLE_EQ(port.serve(4, 0), 4);
  EXPECT_DOUBLE_EQ(port.free_s(), 10);
}

TEST(Port, NeverServesFasterThanItsRate) {
  Port port;
  double total_s = 0, last_s = 0;

  for (int i = 0; i < 2000; ++i) {
    const double start_s = (i * 7919) % 1000, duration_s = 1 + i % 5;
    const double end_s = port.serve(start_s, duration_s);
    total_s += duration_s;
    last_s = std::max(last_s, end_s);
    ASSERT_GE(end_s, start_s + duration_s);
  }

  EXPECT_GE(last_s, total_s);
}

}  // namespace
}  // namespace thinwire::link_shim
