#include <gtest/gtest.h>

#include "devices.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/fabric/fabric.hpp"

namespace thinwire::fabric {
namespace {

/// The message with which options are refused, or "accepted".
std::string refusal(Transport& transport, const FabricOptions& options) {
  try {
    make_fabric(transport, options);
    return "accepted";
  } catch (const InputError& error) {
    return error.what();
  }
}

class FabricOptionsTest : public testing::Test {
 protected:
  std::vector<std::unique_ptr<Transport>> transports_ = make_local_transports(2);
  Transport& transport_ = *transports_.front();
  FabricOptions options_;
};

TEST_F(FabricOptionsTest, DefaultsAreAccepted) {
  EXPECT_EQ(refusal(transport_, options_), "accepted");
}

TEST_F(FabricOptionsTest, SlownessIsOneADevice) {
  options_.slowness = {1, 2, 3};
  EXPECT_EQ(refusal(transport_, options_),
            "slowness has 3 values for 2 devices: give one a device");

  options_.slowness = {1, 0};
  EXPECT_NE(refusal(transport_, options_).find("must be positive"), std::string::npos);
}

TEST_F(FabricOptionsTest, TheModelledClockNeedsDeviceRates) {
  options_.clock = Clock::modelled;
  EXPECT_NE(refusal(transport_, options_).find("device-gflops"), std::string::npos);

  options_.device_flops_per_s = {1e9, 1e9};
  EXPECT_EQ(refusal(transport_, options_), "accepted");
}

TEST_F(FabricOptionsTest, RatesFitTheDevices) {
  options_.links = {{parse_rates("1Mbps:2Mbps:3Mbps"), Seconds(0), Topology::unicast}};
  EXPECT_NE(refusal(transport_, options_).find("3 values for 2 devices"), std::string::npos);

  options_.links = {};
  EXPECT_NE(refusal(transport_, options_).find("no link"), std::string::npos);
}

TEST_F(FabricOptionsTest, TheThrottledClockRunsOneSettingAtFullSpeed) {
  options_.clock = Clock::throttled;
  options_.links = {Link{}, Link{}};
  EXPECT_NE(refusal(transport_, options_).find("one at a time"), std::string::npos);

  options_.links = {Link{}};
  options_.slowness = {1, 2};
  EXPECT_NE(refusal(transport_, options_).find("cannot slow"), std::string::npos);

  options_.slowness = {1, 1};
  EXPECT_EQ(refusal(transport_, options_), "accepted");
}

TEST_F(FabricOptionsTest, TheNativeClockRunsOneSettingAtFullSpeed) {
  options_.clock = Clock::native;
  options_.links = {Link{}, Link{}};
  EXPECT_NE(refusal(transport_, options_).find("'native' was given 2"), std::string::npos);

  options_.links = {Link{}};
  options_.slowness = {1, 2};
  EXPECT_NE(refusal(transport_, options_).find("'native' cannot slow"), std::string::npos);

  options_.slowness = {};
  EXPECT_EQ(refusal(transport_, options_), "accepted");
}

TEST(Clock, ParsesTheNamesThatItPrints) {
  for (const Clock clock : {Clock::emulated, Clock::modelled, Clock::throttled, Clock::native}) {
    EXPECT_EQ(parse_clock(to_string(clock)), clock);
    EXPECT_FALSE(clock_summary(clock).empty());
  }
  EXPECT_THROW(parse_clock("atomic"), InputError);
}

}  // namespace
}  // namespace thinwire::fabric
