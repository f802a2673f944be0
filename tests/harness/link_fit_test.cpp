#include "thinwire/harness/link_fit.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace thinwire::harness {
namespace {

/// Timings of a link whose times are `measured_s(formula, position)`.
std::vector<LinkTiming> timings_of(const LinkSetting& setting,
                                   const std::function<double(double, std::size_t)>& measured_s) {
  std::vector<LinkTiming> timings;
  for (const std::int64_t bytes : {14, 100, 1000, 10'000, 100'000, 300'000}) {
    const double formula_s = all_gather_formula_s(setting.link, setting.devices, bytes);
    timings.push_back({bytes, formula_s, summarize({measured_s(formula_s, timings.size())})});
  }
  return timings;
}

LinkSetting setting_of(int devices, fabric::Topology topology, double bit_per_s, double latency_s) {
  return {.devices = devices,
          .link = {{Rate::bits_per_second(bit_per_s)}, Seconds(latency_s), topology}};
}

TEST(LinkFit, RecoversRateAndLatency) {
  for (const auto topology :
       {fabric::Topology::broadcast, fabric::Topology::unicast, fabric::Topology::shared})
    for (const int devices : {2, 3, 4}) {
      SCOPED_TRACE(testing::Message() << to_string(topology) << " P=" << devices);
      const LinkSetting real = setting_of(devices, topology, 42e6, 3e-4);
      LinkSetting claimed = real;  // what the formula was told has no influence
      claimed.link.rates = {Rate::bits_per_second(1e6)};
      claimed.link.latency = Seconds(1);

      const auto fit = fit_link(claimed, timings_of(real, [](double s, std::size_t) { return s; }));

      ASSERT_TRUE(fit);
      EXPECT_NEAR(fit->rate.bit_per_s() / 42e6, 1, 1e-9);
      EXPECT_NEAR(fit->latency.value_s() / 3e-4, 1, 1e-9);
      EXPECT_NEAR(fit->median_error, 0, 1e-9);
    }
}

TEST(LinkFit, CountsPacketHeadersAsSent) {
  LinkSetting setting = setting_of(2, fabric::Topology::unicast, 42e6, 3e-4);
  setting.link.overhead = fabric::kTcpOverhead;

  const auto fit = fit_link(setting, timings_of(setting, [](double s, std::size_t) { return s; }));

  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->rate.bit_per_s() / 42e6, 1, 1e-9);
}

TEST(LinkFit, IsNearUnderNoise) {
  const LinkSetting setting = setting_of(2, fabric::Topology::unicast, 42e6, 3e-4);
  const auto noisy = [](double s, std::size_t i) { return s * (i % 2 == 0 ? 1.02 : 0.98); };

  const auto fit = fit_link(setting, timings_of(setting, noisy));

  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->rate.bit_per_s() / 42e6, 1, 0.04);
  EXPECT_NEAR(fit->latency.value_s() / 3e-4, 1, 0.04);
  EXPECT_LT(fit->median_error, 0.04);
}

TEST(LinkFit, WeighsSmallTimesLikeLargeOnes) {
  const LinkSetting setting = setting_of(2, fabric::Topology::unicast, 42e6, 3e-4);
  const auto late_at_the_end = [](double s, std::size_t i) { return i == 5 ? 1.1 * s : s; };

  const auto fit = fit_link(setting, timings_of(setting, late_at_the_end));

  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->latency.value_s() / 3e-4, 1, 0.03);
}

TEST(LinkFit, FindsNoNegativeLatency) {
  const LinkSetting setting = setting_of(2, fabric::Topology::unicast, 42e6, 0);
  const auto early_at_the_start = [](double s, std::size_t i) { return i == 0 ? 0.5 * s : s; };

  const auto fit = fit_link(setting, timings_of(setting, early_at_the_start));

  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->latency.value_s(), 0);
  EXPECT_GT(fit->rate.bit_per_s(), 0);
}

TEST(LinkFit, FindsNoRateWhereMoreBytesTakeNoLonger) {
  const LinkSetting setting = setting_of(2, fabric::Topology::unicast, 42e6, 0);

  const auto fit = fit_link(setting, timings_of(setting, [](double, std::size_t i) {
                              return 1e-3 - 1e-5 * static_cast<double>(i);
                            }));

  ASSERT_TRUE(fit);
  EXPECT_TRUE(fit->rate.is_unlimited());
  EXPECT_NEAR(fit->latency.value_s(), 1e-3, 5e-5);
}

TEST(LinkFit, TellsNothingFromTooLittle) {
  const LinkSetting setting = setting_of(2, fabric::Topology::unicast, 42e6, 0);
  const std::vector<LinkTiming> all = timings_of(setting, [](double s, std::size_t) { return s; });
  LinkSetting own_rates = setting;
  own_rates.link.rates = {Rate::bits_per_second(1e6), Rate::bits_per_second(2e6)};

  EXPECT_FALSE(fit_link(setting, std::span(all).first(1)));
  EXPECT_FALSE(fit_link(setting, timings_of(setting, [](double, std::size_t) { return 0.0; })));
  EXPECT_FALSE(fit_link(own_rates, all));
}

}  // namespace
}  // namespace thinwire::harness
