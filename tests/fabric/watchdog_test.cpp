#include "thinwire/fabric/watchdog.hpp"

#include <gtest/gtest.h>

#include <future>

namespace thinwire::fabric {
namespace {

TEST(Watchdog, NamesThePhaseThatIsStuck) {
  std::promise<std::string> message;
  Watchdog watchdog(Seconds(0.05), [&](const std::string& text) { message.set_value(text); });

  watchdog.report("attention", 3);

  EXPECT_EQ(message.get_future().get(), "no progress for 50 ms in 'attention' of layer 3");
}

TEST(Watchdog, IsQuietWhileThereIsProgress) {
  std::atomic<int> alarms = 0;
  {
    Watchdog watchdog(Seconds(30), [&](const std::string&) { ++alarms; });
    for (int layer = 0; layer < 100; ++layer) watchdog.report("work", layer);
  }
  EXPECT_EQ(alarms, 0);
}

TEST(Watchdog, WatchesNothingWithoutALimit) {
  std::atomic<int> alarms = 0;
  {
    const Watchdog watchdog(Seconds(0), [&](const std::string&) { ++alarms; });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(alarms, 0);
}

}  // namespace
}  // namespace thinwire::fabric
