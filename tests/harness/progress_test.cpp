#include "thinwire/harness/progress.hpp"

#include <gtest/gtest.h>

#include <memory>
#include "support/messages.hpp"

namespace thinwire::harness {
namespace {

using test::mentions;

/// A stream whose text can be read, and a clock that is set by hand.
class Screen {
 public:
  Progress::Output output(bool is_terminal) {
    return {.stream = file_.get(), .is_terminal = is_terminal, .now_s = [this] { return now_s; }};
  }
  std::string text() {
    std::string content(static_cast<std::size_t>(std::ftell(file_.get())), '\0');
    std::rewind(file_.get());
    EXPECT_EQ(std::fread(content.data(), 1, content.size(), file_.get()), content.size());
    return content;
  }
  double now_s = 0;

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{std::tmpfile(), std::fclose};
};

TEST(Progress, IsSilentWhenEverythingTakesUnderTwoSeconds) {
  for (const bool is_terminal : {false, true}) {
    Screen screen;
    {
      Progress progress({1, 1}, screen.output(is_terminal));
      for (int i = 0; i < 2; ++i) {
        progress.start_point("point");
        screen.now_s += 0.9;
        progress.finish_point();
      }
    }
    EXPECT_EQ(screen.text(), "");
  }
}

TEST(Progress, WritesOneLineAPointIntoALog) {
  Screen screen;
  Progress progress({1, 3, 4}, screen.output(false));

  progress.start_point("first");
  screen.now_s = 1;
  progress.finish_point();
  progress.start_point("second");
  screen.now_s = 3;
  progress.advance(0.5);
  screen.now_s = 4;
  progress.finish_point();

  EXPECT_EQ(screen.text(),
            "[1/3] 12 %, 7 s left: first\n"  // 7 of 8 units remain, one took a second
            "[2/3] 50 %, 4 s left: second\n");
}

TEST(Progress, UpdatesOneLineOnATerminal) {
  Screen screen;
  {
    Progress progress({10}, screen.output(true));
    progress.start_point("only");
    screen.now_s = 5;
    progress.advance(0.25);
    screen.now_s = 5.1;
    progress.advance(0.3);  // too soon after the last update
  }
  const std::string text = screen.text();

  EXPECT_EQ(text, "\r[1/1] 25 %, 15 s left: only\x1b[K\n");
}

TEST(Progress, CountsSkippedPointsWithoutTheirTime) {
  Screen screen;
  Progress progress({5, 1, 1}, screen.output(false));

  progress.skip_point();
  progress.start_point("second");
  screen.now_s = 10;
  progress.finish_point();

  EXPECT_TRUE(mentions(screen.text(), {"[2/3] 86 %, 10 s left"}));
}

}  // namespace
}  // namespace thinwire::harness
