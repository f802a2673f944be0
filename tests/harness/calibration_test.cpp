#include "thinwire/harness/calibration.hpp"

#include <gtest/gtest.h>

#include "support/golden.hpp"
#include "support/messages.hpp"
#include "support/temporary_folder.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/harness/environment.hpp"

namespace thinwire::harness {
namespace {

using Own = std::map<std::string, std::string>;

const KeyValues kTiny = {{"model", (test::kGoldenFolder / "models/vit-tiny").string()}};

KeyValues tiny_with(KeyValues more) {
  more.insert(more.begin(), kTiny.begin(), kTiny.end());
  return more;
}

std::string refusal(const KeyValues& fields, const Own& own) {
  return test::input_error([&] { make_calibration_spec(fields, own); });
}

TEST(CalibrationSpec, GoesFromOneRowToAllTokens) {
  const CalibrationSpec spec = make_calibration_spec(kTiny, {});

  EXPECT_EQ(spec.rows, (std::vector<Index>{1, 2, 4, 8, 17}));
  EXPECT_FALSE(spec.link);
  EXPECT_EQ(spec.ranks(), 1);
}

TEST(CalibrationSpec, SortsRowsAndKeepsEachOnce) {
  EXPECT_EQ(make_calibration_spec(kTiny, {{"rows", "17,1..3,2"}}).rows,
            (std::vector<Index>{1, 2, 3, 17}));
}

TEST(CalibrationSpec, TakesTheLinkOfSeveralDevices) {
  const CalibrationSpec spec = make_calibration_spec(
      tiny_with({{"devices", "3"}, {"clock", "throttled"}, {"rate", "10Mbps"}}),
      {{"sizes", "1kB,2kB"}});

  ASSERT_TRUE(spec.link);
  EXPECT_EQ(spec.ranks(), 3);
  EXPECT_EQ(spec.link->sizes, (std::vector<std::int64_t>{1000, 2000}));
  EXPECT_EQ(spec.link->settings.front().clock, fabric::Clock::throttled);
}

TEST(CalibrationSpec, RefusesWhatMeasuresNothing) {
  EXPECT_TRUE(test::mentions(refusal(kTiny, {{"rows", "18"}}), {"--rows=18", "17"}));
  EXPECT_TRUE(test::mentions(refusal(kTiny, {{"rows", "0"}}), {"--rows=0", "17"}));
  EXPECT_TRUE(test::mentions(refusal(kTiny, {{"rows", "some"}}), {"--rows=some", "number"}));
  EXPECT_TRUE(test::mentions(refusal(kTiny, {{"sizes", "1kB"}}), {"--sizes=1kB", "--devices"}));
  EXPECT_TRUE(test::mentions(refusal(tiny_with({{"devices", "2"}, {"clock", "emulated"}}), {}),
                             {"--clock=emulated", "native"}));
  EXPECT_TRUE(test::mentions(refusal(tiny_with({{"devices", "2,3"}, {"clock", "throttled"}}), {}),
                             {"2 link settings"}));
}

TEST(Profile, HasDeviceAndLink) {
  const CalibrationSpec spec =
      make_calibration_spec(tiny_with({{"devices", "2"}, {"clock", "throttled"}}), {});
  const Profile profile{
      .model = "vit-tiny",
      .threads = 2,
      .memory_bytes = 1000,
      .rates = {{.rows = 4, .flops = 1, .gflops = summarize({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})}},
      .link = LinkFit{.rate = Rate::bits_per_second(5e6), .latency = Seconds(0.25)},
      .environment = Json::object()};

  const Json json = to_json(profile, spec);

  EXPECT_EQ(json.at("schema"), "thinwire.profile/1");
  EXPECT_EQ(json.at("device").at("model"), "vit-tiny");
  EXPECT_EQ(
      json.at("device").at("gflops_by_rows"),
      Json::array({{{"rows", 4}, {"gflops", 6.0}, {"gflops_p10", 2.0}, {"gflops_p90", 10.0}}}));
  EXPECT_EQ(json.at("link").at("rate_bit_per_s"), 5e6);
  EXPECT_EQ(json.at("link").at("latency_s"), 0.25);
  EXPECT_EQ(json.at("link").at("topology"), "unicast");
  EXPECT_EQ(json.at("link").at("overhead"), "none");
}

TEST(Profile, HasNoLinkWithoutAFit) {
  const Profile profile{.rates = {{.rows = 1, .gflops = summarize({1})}}};

  EXPECT_TRUE(to_json(profile, make_calibration_spec(kTiny, {})).at("link").is_null());
}

TEST(Profile, IsWrittenWhole) {
  const test::TemporaryFolder folder;
  const std::string file = (folder / "device.json").string();

  write_profile(file, {{"schema", "thinwire.profile/1"}});

  EXPECT_EQ(read_json(file), (Json{{"schema", "thinwire.profile/1"}}));
}

TEST(AvailableMemory, IsWhatTheMachineHasAtMost) {
  const std::int64_t available = available_memory_bytes();

  EXPECT_GT(available, 0);
  EXPECT_LE(available, environment({}).at("memory_bytes").get<std::int64_t>());
}

}  // namespace
}  // namespace thinwire::harness
