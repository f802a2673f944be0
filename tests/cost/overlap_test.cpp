#include "thinwire/cost/overlap.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "cost/workloads.hpp"
#include "thinwire/base/error.hpp"

namespace thinwire::cost {
namespace {

using test::make_workload;

/// One exchange of 125 bytes (1000 bits) a device.
Prediction one_exchange(std::size_t devices) {
  Prediction prediction;
  prediction.exchanges.push_back({.kind = ScheduledExchange::Kind::all_gather,
                                  .bytes = std::vector<std::int64_t>(devices, 125),
                                  .before = std::vector<Operations>(devices),
                                  .window = std::vector<Operations>(devices)});
  prediction.tail.resize(devices);
  return prediction;
}

fabric::Link kilobit(fabric::Topology topology, double latency_s = 0) {
  return {
      .rates = {Rate::bits_per_second(1000)}, .latency = Seconds(latency_s), .topology = topology};
}

ExchangeOverlap law_of(std::size_t devices, const fabric::Link& link, double window_s) {
  const std::vector<double> windows_s = {window_s};
  return overlap_law(one_exchange(devices), link, windows_s).at(0);
}

TEST(OverlapLaw, TransferDependsOnWhatTheTopologyShares) {
  EXPECT_DOUBLE_EQ(law_of(3, kilobit(fabric::Topology::broadcast), 0).transfer_s, 1);
  EXPECT_DOUBLE_EQ(law_of(3, kilobit(fabric::Topology::unicast), 0).transfer_s, 2);
  EXPECT_DOUBLE_EQ(law_of(3, kilobit(fabric::Topology::shared), 0).transfer_s, 6);
  EXPECT_DOUBLE_EQ(law_of(3, kilobit(fabric::Topology::broadcast, 0.25), 0).transfer_s, 1.25);
}

TEST(OverlapLaw, ExchangeCostsWhatItsWindowDoesNotCover) {
  const fabric::Link link = kilobit(fabric::Topology::broadcast, 0.25);

  EXPECT_DOUBLE_EQ(law_of(2, link, 0).excess_s, 1.25);
  EXPECT_DOUBLE_EQ(law_of(2, link, 1).excess_s, 0.25);
  EXPECT_DOUBLE_EQ(law_of(2, link, 2).excess_s, 0);
}

TEST(OverlapLaw, SlowestHiddenRateMakesTransferAndWindowEqual) {
  for (const fabric::Topology topology :
       {fabric::Topology::broadcast, fabric::Topology::unicast, fabric::Topology::shared}) {
    fabric::Link link = kilobit(topology, 0.25);
    link.overhead = fabric::kTcpOverhead;
    const double rate = law_of(3, link, 0.75).slowest_hidden_rate_bit_per_s;
    link.rates = {Rate::bits_per_second(rate)};

    EXPECT_DOUBLE_EQ(law_of(3, link, 0.75).transfer_s, 0.75);
  }
  EXPECT_DOUBLE_EQ(
      law_of(2, kilobit(fabric::Topology::broadcast), 0.5).slowest_hidden_rate_bit_per_s, 2000);
}

TEST(OverlapLaw, NothingIsHiddenWithoutAWindowBeyondTheLatency) {
  const fabric::Link link = kilobit(fabric::Topology::unicast, 0.25);

  EXPECT_TRUE(std::isinf(law_of(2, link, 0).slowest_hidden_rate_bit_per_s));
  EXPECT_TRUE(std::isinf(law_of(2, link, 0.25).slowest_hidden_rate_bit_per_s));
}

TEST(OverlapLaw, TraceHidesItsFramesAt10MbpsAndVoltageDoesNot) {
  Workload trace = make_workload("vit-base-16", "trace-b", 2);
  trace.codewords = 1024;
  Workload voltage = make_workload("vit-base-16", "voltage", 2);
  voltage.overlap = true;
  const fabric::Link link{.rates = {Rate::parse("10Mbps")}};
  const std::vector<double> rates = {160e9, 160e9}, slowness = {1, 1};
  const auto excess_s = [&](const Workload& workload) {
    const Prediction prediction = predict(workload);
    double sum_s = 0;
    for (const ExchangeOverlap& exchange :
         overlap_law(prediction, link, modelled_windows_s(prediction, rates, slowness)))
      sum_s += exchange.excess_s;
    return sum_s;
  };

  EXPECT_EQ(excess_s(trace), 0);
  EXPECT_GT(excess_s(voltage), 1);
}

TEST(OverlapLaw, CoversEveryExchangeBeforeABlock) {
  Workload workload = make_workload("bert-base", "trace-b", 2);
  workload.model.head = model::HeadKind::mean_pooling;  // a gather at the end is none of them
  workload.codewords = 32;
  const Prediction prediction = predict(workload);
  const std::vector<double> rates = {1e9, 1e9}, slowness = {1, 2};

  const std::vector<double> windows_s = modelled_windows_s(prediction, rates, slowness);

  ASSERT_EQ(windows_s.size(), 12U);
  EXPECT_LT(windows_s[0], windows_s[1]);  // projections alone
  EXPECT_EQ(windows_s[1],
            static_cast<double>(flops(prediction.exchanges[1].window[0], Convention::paper)) / 1e9);
  EXPECT_THROW(overlap_law(prediction, {}, std::span(windows_s).first(11)), Error);
}

}  // namespace
}  // namespace thinwire::cost
