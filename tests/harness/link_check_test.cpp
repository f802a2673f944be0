#include "thinwire/harness/link_check.hpp"

#include <gtest/gtest.h>

#include "support/local_run.hpp"
#include "support/messages.hpp"
#include "thinwire/base/json.hpp"

namespace thinwire::harness {
namespace {

using Sizes = std::vector<std::int64_t>;

LinkSetting setting_of(int devices, fabric::Topology topology, double bit_per_s = 10e6,
                       double latency_s = 0.002) {
  return {.devices = devices,
          .link = {{Rate::bits_per_second(bit_per_s)}, Seconds(latency_s), topology},
          .iterations = 3,
          .warmup = 1};
}

std::vector<LinkTiming> time_on_threads(const LinkSetting& setting, const Sizes& sizes) {
  std::vector<LinkTiming> result;
  test::on_devices(setting.devices, [&](fabric::Transport& transport) {
    auto timings = time_all_gathers(transport, setting, sizes, nullptr, [](double) {});
    if (transport.rank() == 0) result = std::move(timings);
  });
  return result;
}

TEST(LinkCheckFormula, CountsTheCopiesOfATopology) {
  const auto formula_s = [](int devices, fabric::Topology topology) {
    return all_gather_formula_s(setting_of(devices, topology).link, devices, 1250);
  };

  EXPECT_DOUBLE_EQ(formula_s(3, fabric::Topology::broadcast), 0.001 + 0.002);  // 10,000 bits once
  EXPECT_DOUBLE_EQ(formula_s(3, fabric::Topology::unicast), 2 * 0.001 + 0.002);
  EXPECT_DOUBLE_EQ(formula_s(3, fabric::Topology::shared), 6 * 0.001 + 0.002);
}

TEST(LinkCheck, EmulatedLinksEqualTheFormula) {
  for (const auto topology :
       {fabric::Topology::broadcast, fabric::Topology::unicast, fabric::Topology::shared})
    for (const int devices : {2, 3, 4}) {
      SCOPED_TRACE(testing::Message() << to_string(topology) << " P=" << devices);
      const std::vector<LinkTiming> timings =
          time_on_threads(setting_of(devices, topology), {1, 14, 1448, 300'000});

      ASSERT_EQ(timings.size(), 4U);
      for (const LinkTiming& timing : timings) {
        EXPECT_EQ(timing.measured_s.samples, std::vector<double>(3, timing.formula_s));
        EXPECT_EQ(timing.error(), 0);
      }
    }
}

TEST(LinkCheck, ThrottledLinksTakeTheTimeOfTheWall) {
  LinkSetting setting = setting_of(2, fabric::Topology::unicast, 10e6, 0);
  setting.clock = fabric::Clock::throttled;

  const std::vector<LinkTiming> timings = time_on_threads(setting, {25'000});

  // One MTU may leave at once; how late the rest is depends on the machine.
  EXPECT_GE(timings.at(0).measured_s.min, (25'000 - 1500) * 8 / 10e6);
}

TEST(LinkCheck, TellsHowFarItIs) {
  std::vector<double> parts;

  test::on_devices(2, [&](fabric::Transport& transport) {
    time_all_gathers(transport, setting_of(2, fabric::Topology::unicast), Sizes{1, 2}, nullptr,
                     [&](double part) {
                       if (transport.rank() == 0) parts.push_back(part);
                     });
  });

  ASSERT_EQ(parts.size(), 8U);  // two sizes, a warm-up and three iterations each
  EXPECT_TRUE(std::ranges::is_sorted(parts));
  EXPECT_EQ(parts.back(), 1);
}

TEST(LinkCheckOptions, MakeASettingForEveryValue) {
  const LinkCheck check = make_link_check(
      {{"devices", "2,3"}, {"rate", "10Mbps,1Gbps"}, {"latency", "1ms"}, {"iterations", "5"}},
      {{"sizes", "1kB"}});

  ASSERT_EQ(check.settings.size(), 4U);
  EXPECT_EQ(check.ranks(), 3);
  EXPECT_EQ(check.settings[1].devices, 2);
  EXPECT_EQ(check.settings[1].link.rates.front(), Rate::bits_per_second(1e9));
  EXPECT_EQ(check.settings[3].iterations, 5);
  EXPECT_EQ(check.sizes, Sizes{1000});
}

TEST(LinkCheckOptions, RefusesWhatCannotBeChecked) {
  const auto refusal = [](const KeyValues& fields, const std::string& sizes) {
    return test::input_error([&] { make_link_check(fields, {{"sizes", sizes}}); });
  };

  EXPECT_TRUE(test::mentions(refusal({{"devices", "1"}}, "1B"), {"--devices=1", "two"}));
  EXPECT_TRUE(test::mentions(refusal({{"devices", "2"}, {"clock", "modelled"}}, "1B"),
                             {"--clock=modelled", "emulated"}));
  EXPECT_TRUE(test::mentions(refusal({{"devices", "2"}}, "2GB"), {"--sizes", "2 GB", "1.07 GB"}));
  EXPECT_TRUE(test::mentions(refusal({{"devices", "2"}}, "5"), {"--sizes=5", "unit"}));
}

TEST(LinkCheckRecord, HasBothTimesAndTheirDifference) {
  const LinkSetting setting = setting_of(2, fabric::Topology::unicast);
  const LinkTiming timing{1250, 0.003, summarize({0.003, 0.0045, 0.006})};

  const Json record = to_json(setting, timing, Json::object());

  EXPECT_EQ(record.at("schema"), "thinwire.link-check/1");
  EXPECT_EQ(record.at("link").at("rate_bit_per_s"), 10e6);
  EXPECT_EQ(record.at("formula_s"), 0.003);
  EXPECT_EQ(record.at("measured_s").at("p50"), 0.0045);
  EXPECT_DOUBLE_EQ(record.at("error").get<double>(), 0.5);
  EXPECT_EQ(record.at("contended"), false);
}

TEST(LinkCheckRecord, HasNoErrorWhereTheFormulaIsZero) {
  LinkSetting setting;
  const LinkTiming timing{14, 0, summarize({1e-6})};

  EXPECT_TRUE(to_json(setting, timing, Json::object()).at("error").is_null());
}

}  // namespace
}  // namespace thinwire::harness
