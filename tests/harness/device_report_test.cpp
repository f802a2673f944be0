#include "thinwire/harness/device_report.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace thinwire::harness {
namespace {

TEST(DeviceReport, ArrivesAsItWasSent) {
  DeviceReport report;
  fabric::DeviceIteration iteration;
  iteration.links = {{.compute_s = 0.1, .wait_s = 0.2, .hidden_s = 0.3, .skew_s = 0.4},
                     {.compute_s = 1.0 / 3}};
  iteration.links[0].milestone_s[2] = 0.7;
  iteration.windows_s = {0.01, 0.02, 1.0 / 7};
  iteration.link_bits = {123, 456};
  iteration.operations.matmul_macs = std::int64_t{1} << 60;
  iteration.wall_s = 2.5;
  iteration.eviction_s = 0.5;
  report.iterations = {iteration};
  report.workspace_bytes = 77;
  report.own_weights_bytes = 88;

  const DeviceReport arrived = unpack(pack(report));

  ASSERT_EQ(arrived.iterations.size(), 1U);
  const fabric::DeviceIteration& same = arrived.iterations[0];
  EXPECT_EQ(same.links[1].compute_s, 1.0 / 3);
  EXPECT_EQ(same.links[0].milestone_s[2], 0.7);
  EXPECT_TRUE(std::isnan(same.links[0].milestone_s[0]));
  EXPECT_EQ(same.windows_s, iteration.windows_s);
  EXPECT_EQ(same.link_bits, iteration.link_bits);
  EXPECT_EQ(same.operations, iteration.operations);
  EXPECT_EQ(same.wall_s, 2.5);
  EXPECT_EQ(same.eviction_s, 0.5);
  EXPECT_EQ(arrived.workspace_bytes, 77);
  EXPECT_EQ(arrived.own_weights_bytes, 88);
}

}  // namespace
}  // namespace thinwire::harness
