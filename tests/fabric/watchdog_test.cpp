#include "thinwire/fabric/watchdog.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <thread>

namespace thinwire::fabric {
namespace {

TEST(Watchdog, NamesThePhaseThatIsStuck) {
  std::promise<std::string> message;
  Watchdog watchdog(Seconds(0.05), [&](const std::string& text) { message.set_value(text); });

  watchdog.report("attention", 3);

  EXPECT_EQ(message.get_future().get(), "no progress for 50 ms: rank 0 in 'attention' of layer 3");
}

TEST(Watchdog, IsQuietWhileThereIsProgress) {
  std::atomic<int> alarms = 0;
  {
    Watchdog watchdog(Seconds(30), [&](const std::string&) { ++alarms; });
    for (int layer = 0; layer < 100; ++layer) watchdog.report("work", layer);
  }
  EXPECT_EQ(alarms, 0);
}

TEST(Watchdog, IsOnTheBoardWhileItWatches) {
  std::array<ProgressRow, 2> rows{};
  const ProgressBoard board{rows, &rows[1]};
  {
    Watchdog watchdog(
        Seconds(30), [](const std::string&) {}, &board);
    watchdog.report("attention", 3);
    EXPECT_EQ(board.culprit(), "rank 0 in 'attention' of layer 3");
    EXPECT_FALSE(rows[0].takes_part());
  }
  EXPECT_FALSE(rows[1].takes_part());
}

TEST(ProgressBoard, BlamesTheRankThatDoesNotWait) {
  std::array<ProgressRow, 4> rows{};
  for (int rank = 0; rank < 4; ++rank) rows.at(static_cast<std::size_t>(rank)).sign(rank, 0);
  const ProgressBoard board{rows, &rows[0]};
  rows[0].report("wait", 1);
  rows[1].report("turn", 2);
  rows[2].report("a phase with a name that is too long", 3);

  EXPECT_EQ(board.culprit(), "rank 2 in 'a phase with a name tha' of layer 3");

  rows[2].report("wait", 3);

  EXPECT_EQ(board.culprit(), "rank 0 in 'wait' of layer 1");  // silent for the longest
  EXPECT_EQ(board.latest_ns(), rows[2].since_ns());
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
