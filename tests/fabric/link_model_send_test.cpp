#include <gtest/gtest.h>

#include "thinwire/base/error.hpp"
#include "thinwire/fabric/link_model.hpp"

namespace thinwire::fabric {
namespace {

using Times = std::vector<double>;
using Sizes = std::vector<std::int64_t>;
using Messages = std::vector<Message>;

constexpr std::array kTopologies = {Topology::broadcast, Topology::unicast, Topology::shared};

/// 8 bit/s: a byte takes a second.
Link byte_a_second(Topology topology, double latency_s = 0, std::vector<double> bytes_per_s = {1}) {
  Link link{{}, Seconds(latency_s), topology};
  for (const double rate : bytes_per_s) link.rates.push_back(Rate::bits_per_second(8 * rate));
  return link;
}

Times send(LinkModel& model, const Times& ready, const Messages& messages) {
  Times arrival(ready.size());
  model.send(ready, messages, arrival);
  return arrival;
}

Times all_gather(LinkModel& model, const Times& ready, const Sizes& bytes) {
  Times arrival(ready.size());
  model.all_gather(ready, bytes, arrival);
  return arrival;
}

/// Devices 1 and 2 are ready at once, device 0 a second later.
const Times kReady = {1, 0, 0};
const Messages kMessages = {{0, 2, 2}, {1, 2, 3}, {2, 0, 1}};

TEST(LinkModelSend, UnicastOccupiesTransmitterAndPort) {
  LinkModel model(byte_a_second(Topology::unicast, 0.5), 3);

  // 1>2 0..3, 2>0 0..1, then 0>2 when device 2's port is free: 3..5
  EXPECT_EQ(send(model, kReady, kMessages), (Times{1.5, 0, 5.5}));
  EXPECT_EQ(model.link_bits(), 8 * 6);
}

TEST(LinkModelSend, BroadcastOccupiesTheTransmitterAlone) {
  LinkModel model(byte_a_second(Topology::broadcast, 0.5), 3);

  EXPECT_EQ(send(model, kReady, kMessages), (Times{1.5, 0, 3.5}));  // 0>2 1..3
  EXPECT_EQ(send(model, kReady, {{0, 1, 1}}), (Times{0, 4.5, 0}));  // its transmitter: 3..4
}

TEST(LinkModelSend, SharedCarriesOneMessageAtATime) {
  LinkModel model(byte_a_second(Topology::shared, 0.5), 3);

  EXPECT_EQ(send(model, kReady, kMessages), (Times{4.5, 0, 6.5}));  // 0..3, 3..4, 4..6
}

TEST(LinkModelSend, ServesASendersMessagesInTheGivenOrder) {
  for (const Topology topology : kTopologies) {
    LinkModel model(byte_a_second(topology), 3);

    EXPECT_EQ(send(model, {0, 0, 1}, {{2, 1, 2}, {2, 0, 4}}), (Times{7, 3, 0}))
        << to_string(topology);
  }
}

TEST(LinkModelSend, RunsAtTheSlowerOfTheTwoEnds) {
  for (const Topology topology : kTopologies) {
    LinkModel model(byte_a_second(topology, 0, {4, 2, 1}), 3);

    EXPECT_EQ(send(model, {0, 0, 0}, {{0, 1, 4}}), (Times{0, 2, 0})) << to_string(topology);
  }
}

TEST(LinkModelSend, EmptyMessagesAreNotSent) {
  LinkModel model(byte_a_second(Topology::unicast, 9), 2);

  EXPECT_EQ(send(model, {3, 4}, {{0, 1, 0}}), (Times{0, 0}));
  EXPECT_EQ(model.link_bits(), 0);
}

TEST(LinkModelSend, RefusesNodesThatTakeNoPart) {
  LinkModel model(byte_a_second(Topology::unicast), 2, /*has_terminal=*/true);

  EXPECT_THROW(send(model, {0, 0}, {{0, 2, 1}}), Error);
  EXPECT_THROW(send(model, {0, 0}, {{1, 1, 1}}), Error);
  EXPECT_THROW(send(model, {0, 0, 0, 0}, {}), Error);
}

TEST(LinkModelTerminal, IsNeverTheSlowerEnd) {
  for (const Topology topology : kTopologies) {
    LinkModel model(byte_a_second(topology, 0, {2, 1}), 2, /*has_terminal=*/true);

    // At 2 bytes a second from 1 to 3, at 1 from 3 to 6.
    EXPECT_EQ(send(model, {0, 0, 1}, {{2, 0, 4}, {2, 1, 3}}), (Times{3, 6, 0}))
        << to_string(topology);
  }
}

TEST(LinkModelTerminal, TakesNoPartInAnAllGather) {
  LinkModel model(byte_a_second(Topology::broadcast, 0, {2, 1}), 2, /*has_terminal=*/true);

  EXPECT_EQ(all_gather(model, {0, 0}, {3, 5}), (Times{5, 3}));  // both at 1 byte a second
  EXPECT_EQ(model.link_bits(), 8 * 8);
  EXPECT_THROW(all_gather(model, {0, 0, 0}, {3, 5, 0}), Error);
}

TEST(LinkModelTerminal, GathersByReadyTimeThenDevice) {
  LinkModel model(byte_a_second(Topology::unicast, 0.5), 3, /*has_terminal=*/true);
  Times arrival(4);

  model.gather(3, Times{2, 0, 2, 0}, Sizes{1, 3, 2, 0}, arrival);

  EXPECT_EQ(arrival, (Times{0, 0, 0, 6.5}));  // 0..3, 3..4, 4..6
}

TEST(LinkModelState, ContinuesInAnotherModelToTheLastBit) {
  for (const Topology topology : kTopologies) {
    SCOPED_TRACE(to_string(topology));
    const Link link = byte_a_second(topology, 0.1, {0.3, 0.7});
    LinkModel first(link, 2, /*has_terminal=*/true), second(link, 2, /*has_terminal=*/true);
    all_gather(first, {1.1, 0.3}, {7, 5});
    std::vector<double> state(first.state_size());

    first.save_state(state);
    second.load_state(state);

    const Messages more = {{0, 1, 3}, {1, 0, 2}, {2, 0, 1}};
    const Times fresh = send(*std::make_unique<LinkModel>(link, 2, true), {1, 1, 1}, more);
    const Times expected = send(first, {1, 1, 1}, more);
    EXPECT_NE(expected, fresh);
    EXPECT_EQ(send(second, {1, 1, 1}, more), expected);
    EXPECT_EQ(second.link_bits(), first.link_bits());
  }
}

}  // namespace
}  // namespace thinwire::fabric
