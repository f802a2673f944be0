#include "thinwire/cost/modelled_time.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "cost/workloads.hpp"
#include "thinwire/base/error.hpp"

namespace thinwire::cost {
namespace {

using test::make_workload;

/// `seconds` of compute at 1000 FLOP/s.
Operations work(double seconds) {
  Operations operations;
  operations.matmul_macs = static_cast<std::int64_t>(500 * seconds);
  return operations;
}

const std::vector<double> kRates = {1000, 1000};
const std::vector<double> kEvenly = {1, 1};

/// Two devices publish 125 bytes (1 s at 1 kbit/s) after 1 s and 2 s, and compute 3 s at the end.
Prediction two_devices(double window_s = 0) {
  Prediction prediction;
  prediction.exchanges.push_back({.kind = ScheduledExchange::Kind::all_gather,
                                  .bytes = {125, 125},
                                  .before = {work(1), work(2)},
                                  .window = {work(window_s), work(window_s)}});
  prediction.tail = {work(3), work(3)};
  return prediction;
}

fabric::Link unicast_at(std::string_view rate) {
  fabric::Link link;
  link.rates = fabric::parse_rates(rate);
  return link;
}

fabric::Link slow_link(fabric::Topology topology = fabric::Topology::broadcast) {
  return {.rates = {Rate::bits_per_second(1000)}, .latency = Seconds(0.5), .topology = topology};
}

std::vector<DeviceTime> play(const Prediction& prediction, const fabric::Link& link) {
  return modelled_time(std::span(&prediction, 1), link, kRates, kEvenly);
}

TEST(ModelledTime, WaitsForThePeersMessage) {
  const std::vector<DeviceTime> times = play(two_devices(), slow_link());

  // Device 0 waits from 1 s until 2 + 1 + 0.5 s, device 1 from 2 s until 1 + 1 + 0.5 s.
  EXPECT_DOUBLE_EQ(times[0].wait_s, 2.5);
  EXPECT_DOUBLE_EQ(times[1].wait_s, 0.5);
  EXPECT_DOUBLE_EQ(times[0].compute_s, 4);
  EXPECT_DOUBLE_EQ(times[1].compute_s, 5);
}

TEST(ModelledTime, SkewIsWhatAnUnlimitedLinkWouldLeave) {
  const std::vector<DeviceTime> times = play(two_devices(), slow_link());

  EXPECT_DOUBLE_EQ(times[0].skew_s, 1);  // the peer is 1 s late
  EXPECT_DOUBLE_EQ(times[1].skew_s, 0);
}

TEST(ModelledTime, NothingIsHiddenWithoutAWindow) {
  for (const DeviceTime& time : play(two_devices(), slow_link()))
    EXPECT_DOUBLE_EQ(time.hidden_s, 0);
}

TEST(ModelledTime, WindowHidesTheTransfer) {
  const std::vector<DeviceTime> times = play(two_devices(1.0), slow_link());

  // Device 0 computes from 1 to 2 s and waits until 3.5 s; device 1 computes from 2 to 3 s while
  // its message arrives at 2.5 s.
  EXPECT_DOUBLE_EQ(times[0].wait_s, 1.5);
  EXPECT_DOUBLE_EQ(times[0].hidden_s, 1);
  EXPECT_DOUBLE_EQ(times[1].wait_s, 0);
  EXPECT_DOUBLE_EQ(times[1].hidden_s, 0.5);
  EXPECT_DOUBLE_EQ(times[1].compute_s, 6);
}

TEST(ModelledTime, SharedMediumSendsOneAfterTheOther) {
  const std::vector<DeviceTime> times = play(two_devices(), slow_link(fabric::Topology::shared));

  // Device 0 sends from 1 to 2 s, device 1 from 2 to 3 s: as broadcast. With both ready at 1 s:
  EXPECT_DOUBLE_EQ(times[0].wait_s, 2.5);
  Prediction together = two_devices();
  together.exchanges[0].before = {work(1), work(1)};
  const std::vector<DeviceTime> contended = play(together, slow_link(fabric::Topology::shared));
  EXPECT_DOUBLE_EQ(contended[0].wait_s, 2.5);  // the second transmission ends at 3 s
  EXPECT_DOUBLE_EQ(contended[1].wait_s, 1.5);  // the first at 2 s
}

TEST(ModelledTime, SlownessAndDeviceRateStretchCompute) {
  const Prediction prediction = two_devices();
  const std::vector<double> rates = {1000, 500}, slowness = {3, 1};

  const std::vector<DeviceTime> times =
      modelled_time(std::span(&prediction, 1), slow_link(), rates, slowness);

  EXPECT_DOUBLE_EQ(times[0].compute_s, 3 * 4);
  EXPECT_DOUBLE_EQ(times[1].compute_s, 2 * 5);
  EXPECT_DOUBLE_EQ(times[0].wait_s, 4 + 1.5 - 3);  // published at 3 s and 4 s
  EXPECT_DOUBLE_EQ(times[1].wait_s, 3 + 1.5 - 4);
}

TEST(ModelledTime, OnlyDeviceZeroWaitsForAGather) {
  Prediction prediction = two_devices();
  prediction.exchanges[0].kind = ScheduledExchange::Kind::gather;
  prediction.exchanges[0].bytes = {0, 125};

  const std::vector<DeviceTime> times = play(prediction, slow_link());

  EXPECT_DOUBLE_EQ(times[0].wait_s, 2.5);
  EXPECT_DOUBLE_EQ(times[1].wait_s, 0);
  EXPECT_DOUBLE_EQ(times[1].skew_s, 0);
}

TEST(ModelledTime, SequencesFollowOneAnotherOnTheSameClocks) {
  const std::array sequences = {two_devices(), two_devices()};

  const std::vector<DeviceTime> times = modelled_time(sequences, slow_link(), kRates, kEvenly);

  // The first ends at 6.5 s and 5.5 s; the second publishes at 7.5 s on both devices.
  EXPECT_DOUBLE_EQ(times[0].compute_s, 8);
  EXPECT_DOUBLE_EQ(times[0].wait_s, 2.5 + 1.5);
  EXPECT_DOUBLE_EQ(times[1].compute_s, 10);
  EXPECT_DOUBLE_EQ(times[1].wait_s, 0.5 + 1.5);
  // Unlimited: first ends at 5 s and 5 s, so that the second finds device 0 a second early again.
  EXPECT_DOUBLE_EQ(times[0].skew_s, 2);
}

TEST(ModelledTime, OneDeviceOnlyComputes) {
  const Prediction prediction = predict(make_workload("vit-base-16", "voltage", 1));
  const std::vector<double> rate = {160e9}, slowness = {1};

  const std::vector<DeviceTime> times =
      modelled_time(std::span(&prediction, 1), slow_link(), rate, slowness);

  EXPECT_EQ(times[0].compute_s, 35146568448.0 / 160e9);
  EXPECT_EQ(times[0].wait_s, 0);
  EXPECT_EQ(times[0].hidden_s, 0);
  EXPECT_EQ(times[0].skew_s, 0);
}

TEST(ModelledTime, ComputeIsTheDevicesOperationsAtAnyNumberOfDevices) {
  for (int devices = 2; devices <= 10; ++devices) {
    const Prediction prediction = predict(make_workload("vit-base-16", "prism", devices, 5));
    const std::vector<double> rates(static_cast<std::size_t>(devices), 50e9);
    const std::vector<double> slowness(static_cast<std::size_t>(devices), 1.0);

    const std::vector<DeviceTime> times =
        modelled_time(std::span(&prediction, 1), slow_link(), rates, slowness);

    for (std::size_t p = 0; p < times.size(); ++p) {
      EXPECT_EQ(
          times[p].compute_s,
          static_cast<double>(flops(prediction.device_operations[p], Convention::paper)) / 50e9);
      EXPECT_GE(times[p].wait_s, times[p].skew_s);
    }
  }
}

/// PRISM's claim at 200 Mbps, two devices: the device rate of 160 GFLOP/s gives the printed cut.
TEST(ModelledTime, PrismBeatsTheSingleDeviceAt200Mbps) {
  const fabric::Link link = unicast_at("200Mbps");
  const Prediction prism = predict(make_workload("vit-base-16", "prism", 2, 10));
  const std::vector<double> rates = {160e9, 160e9};

  const std::vector<DeviceTime> times = modelled_time(std::span(&prism, 1), link, rates, kEvenly);

  const double single_s = 35146568448.0 / 160e9;
  const double latency_s =
      std::max(times[0].compute_s + times[0].wait_s, times[1].compute_s + times[1].wait_s);
  EXPECT_NEAR(100 * (1 - latency_s / single_s), 43.4, 0.05);  // printed: 43.3
}

TEST(ModelledTime, RefusesRatesThatDoNotFitTheSchedule) {
  const Prediction prediction = two_devices();
  const std::vector<double> three = {1, 1, 1};

  EXPECT_THROW(modelled_time(std::span(&prediction, 1), slow_link(), three, three), Error);
  EXPECT_THROW(modelled_time(std::span(&prediction, 1), slow_link(), kRates, three), Error);
}

double milliseconds(const Workload& workload, std::string_view rate) {
  return 1e3 * nominal_communication_s(predict(workload), unicast_at(rate));
}

TEST(NominalCommunication, ReproducesTheFiguresOfTrace) {
  EXPECT_NEAR(milliseconds(make_workload("vit-base-16", "voltage", 2), "10Mibps"), 2770.31, 0.005);
  EXPECT_NEAR(milliseconds(make_workload("vit-base-16", "prism", 2, 5), "10Mibps"), 140.63, 0.005);
}

TEST(NominalCommunication, TakesDecimalRatesAndTheFirstDevices) {
  const Prediction prism = predict(make_workload("vit-base-16", "prism", 2, 5));

  EXPECT_DOUBLE_EQ(nominal_communication_s(prism, unicast_at("10Mbps:1Mbps")),
                   12 * 32 * 768 * 5 / 10e6);
}

TEST(NominalCommunication, IsNothingOnAnUnlimitedLinkOrOneDevice) {
  EXPECT_EQ(nominal_communication_s(predict(make_workload("gpt2", "voltage", 2)), fabric::Link{}),
            0);
  EXPECT_EQ(milliseconds(make_workload("gpt2", "single", 1), "10Mbps"), 0);
}

}  // namespace
}  // namespace thinwire::cost
