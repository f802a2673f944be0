#include "thinwire/cost/energy.hpp"

#include <gtest/gtest.h>

#include "cost/workloads.hpp"

namespace thinwire::cost {
namespace {

using Kind = ScheduledExchange::Kind;

Prediction exchange_of(Kind kind, std::vector<std::int64_t> bytes, std::vector<int> to = {}) {
  Prediction prediction;
  prediction.tail.resize(3);
  prediction.exchanges.push_back({.kind = kind, .bytes = std::move(bytes), .to = std::move(to)});
  return prediction;
}

fabric::Link link_of(fabric::Topology topology, std::vector<double> bit_per_s = {1000}) {
  fabric::Link link{.topology = topology};
  link.rates.clear();
  for (const double rate : bit_per_s) link.rates.push_back(Rate::bits_per_second(rate));
  return link;
}

std::vector<RadioLoad> loads(const Prediction& prediction, const fabric::Link& link) {
  return radio_loads(std::span(&prediction, 1), link);
}

TEST(RadioLoads, ABroadcastIsSentOnceAndHeardByAll) {
  const Prediction prediction = exchange_of(Kind::all_gather, {125, 250, 0});

  const auto radio = loads(prediction, link_of(fabric::Topology::broadcast));

  EXPECT_EQ(radio[0].sent_bits, 1000);
  EXPECT_EQ(radio[0].received_bits, 2000);
  EXPECT_EQ(radio[2].received_bits, 3000);
  EXPECT_DOUBLE_EQ(radio[0].transmit_s, 1);
  EXPECT_DOUBLE_EQ(radio[2].receive_s, 3);
  EXPECT_EQ(radio[2].transmit_s, 0);
}

TEST(RadioLoads, UnicastAndSharedSendACopyAPeer) {
  const Prediction prediction = exchange_of(Kind::all_gather, {125, 0, 0});
  for (const auto topology : {fabric::Topology::unicast, fabric::Topology::shared}) {
    const auto radio = loads(prediction, link_of(topology));

    EXPECT_EQ(radio[0].sent_bits, 2000);
    EXPECT_DOUBLE_EQ(radio[0].transmit_s, 2);
    EXPECT_EQ(radio[1].received_bits, 1000);
  }
}

TEST(RadioLoads, HeadersOfPacketsTravelToo) {
  fabric::Link link = link_of(fabric::Topology::broadcast);
  link.overhead = {.header_bytes = 25, .payload_bytes = 100};

  const auto radio = loads(exchange_of(Kind::all_gather, {125, 0, 0}), link);

  EXPECT_EQ(radio[0].sent_bits, 8 * (125 + 2 * 25));
  EXPECT_DOUBLE_EQ(radio[1].receive_s, 1.4);
}

TEST(RadioLoads, ATransferRunsAtTheSlowerEnd) {
  const Prediction prediction = exchange_of(Kind::all_gather, {125, 0, 0});

  const auto unicast = loads(prediction, link_of(fabric::Topology::unicast, {1000, 1000, 100}));
  const auto broadcast = loads(prediction, link_of(fabric::Topology::broadcast, {1000, 1000, 100}));

  EXPECT_DOUBLE_EQ(unicast[0].transmit_s, 1 + 10);
  EXPECT_DOUBLE_EQ(unicast[2].receive_s, 10);
  EXPECT_DOUBLE_EQ(broadcast[0].transmit_s, 10);
}

TEST(RadioLoads, OtherCollectivesGoFromOneToOne) {
  const fabric::Link link = link_of(fabric::Topology::unicast);

  const auto sent = loads(exchange_of(Kind::send_receive, {125, 250, 0}, {1, 2, -1}), link);
  EXPECT_EQ(sent[0].sent_bits, 1000);
  EXPECT_EQ(sent[1].received_bits, 1000);
  EXPECT_EQ(sent[2].received_bits, 2000);

  const auto gathered = loads(exchange_of(Kind::gather, {0, 125, 125}), link);
  EXPECT_EQ(gathered[0].received_bits, 2000);
  EXPECT_EQ(gathered[0].sent_bits, 0);

  const auto scattered = loads(exchange_of(Kind::scatter, {125, 125, 250}), link);
  EXPECT_EQ(scattered[2].received_bits, 2000);
  EXPECT_EQ(scattered[2].sent_bits, 0);

  const auto collected = loads(exchange_of(Kind::collect, {125, 0, 0, 0}), link);
  EXPECT_EQ(collected[0].sent_bits, 1000);
  EXPECT_EQ(collected[1].received_bits, 0);
}

TEST(RadioLoads, SendWhatAPredictionSaysOnABroadcastLink) {
  for (const char* strategy : {"voltage", "tensor", "pipeline"}) {
    const Prediction prediction = predict(test::make_workload("vit-base-16", strategy, 3));
    const auto radio = loads(prediction, link_of(fabric::Topology::broadcast));
    for (std::size_t p = 0; p < radio.size(); ++p)
      EXPECT_EQ(radio[p].sent_bits, 8 * prediction.wire_bytes[p]) << strategy << " " << p;
  }
}

TEST(Energy, AddsComputingWaitingAndTheRadio) {
  const Powers powers{.compute_w = 6, .idle_w = 2, .radio_w = 0.5};
  const RadioLoad radio{.transmit_s = 1, .receive_s = 3};

  EXPECT_DOUBLE_EQ(energy_j(powers, 2, 5, radio), 2 * 6 + 3 * 2 + 4 * 0.5);
}

}  // namespace
}  // namespace thinwire::cost
