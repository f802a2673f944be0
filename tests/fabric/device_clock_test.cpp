#include "thinwire/fabric/device_clock.hpp"

#include <gtest/gtest.h>

namespace thinwire::fabric {
namespace {

TEST(DeviceClock, WaitsForALateMessage) {
  DeviceClock clock;
  clock.set_compute_s(2);

  clock.wait_until(5, 1);

  EXPECT_EQ(clock.wait_s(), 3);
  EXPECT_EQ(clock.hidden_s(), 1);  // between publishing at 1 and waiting at 2
  EXPECT_EQ(clock.now_s(), 5);
}

TEST(DeviceClock, DoesNotWaitForAnEarlyMessage) {
  DeviceClock clock;
  clock.set_compute_s(6);

  clock.wait_until(5, 1);

  EXPECT_EQ(clock.wait_s(), 0);
  EXPECT_EQ(clock.hidden_s(), 4);  // the whole transfer
}

TEST(DeviceClock, HidesNothingWithoutWorkBetween) {
  DeviceClock clock;
  clock.set_compute_s(1);

  clock.wait_until(4, 1);

  EXPECT_EQ(clock.hidden_s(), 0);
}

TEST(DeviceClock, IgnoresMessagesFromBeforePublishing) {
  DeviceClock clock;
  clock.set_compute_s(3);

  clock.wait_until(1, 2);

  EXPECT_EQ(clock.hidden_s(), 0);
  EXPECT_EQ(clock.now_s(), 3);
}

TEST(DeviceClock, ComputeAfterAWaitComesOnTop) {
  DeviceClock clock;
  clock.set_compute_s(1);
  clock.wait_until(4, 1);

  clock.set_compute_s(1.5);

  EXPECT_EQ(clock.now_s(), 4.5);
  EXPECT_EQ(clock.compute_s() + clock.wait_s(), clock.now_s());
}

}  // namespace
}  // namespace thinwire::fabric
