#include "thinwire/fabric/timeline.hpp"
#include "thinwire/base/json.hpp"

#include <gtest/gtest.h>

namespace thinwire::fabric {
namespace {

TEST(ChromeTrace, NamesProcessesAndThreadsAndCountsInMicroseconds) {
  const std::vector<std::string> links = {"10 Mbps", "unlimited"};
  const std::vector<TimelineEvent> events = {
      {TimelineEvent::Kind::compute, "attention", 3, 1, 2, 0.5, 0.25},
      {TimelineEvent::Kind::transfer, "to device 0", 3, 0, 1, 1, 2}};

  const Json trace = Json::parse(chrome_trace(events, links, 3).dump());

  const Json& list = trace.at("traceEvents");
  ASSERT_EQ(list.size(), 2U * (1 + 2 * 3) + 2);
  EXPECT_EQ(list[0].at("name"), "process_name");
  EXPECT_EQ(list[0].at("args").at("name"), "10 Mbps");
  EXPECT_EQ(list[2].at("name"), "thread_name");
  const Json& compute = list[list.size() - 2];
  EXPECT_EQ(compute.at("ph"), "X");
  EXPECT_EQ(compute.at("name"), "attention");
  EXPECT_EQ(compute.at("pid"), 1);
  EXPECT_EQ(compute.at("tid"), 4);
  EXPECT_EQ(compute.at("ts"), 5e5);
  EXPECT_EQ(compute.at("dur"), 2.5e5);
  EXPECT_EQ(compute.at("args").at("layer"), 3);
  EXPECT_EQ(list.back().at("tid"), 3);  // device 1 sends
}

TEST(ChromeTrace, NamesTheTerminalWhereItHasEvents) {
  const std::vector<std::string> links = {"10 Mbps"};
  const std::vector<TimelineEvent> events = {
      {TimelineEvent::Kind::compute, "embedding", 0, 0, 2, 0, 1}};

  const Json trace = chrome_trace(events, links, 2);

  const Json& list = trace.at("traceEvents");
  ASSERT_EQ(list.size(), 1U + 2 * 3 + 1);
  EXPECT_EQ(list[4].at("args").at("name"), "device 1 sends");
  EXPECT_EQ(list[5].at("args").at("name"), "terminal");
  EXPECT_EQ(list[6].at("args").at("name"), "terminal sends");
  EXPECT_EQ(list[6].at("tid"), 5);
}

}  // namespace
}  // namespace thinwire::fabric
