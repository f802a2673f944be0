#include "link_shim/endpoint.hpp"

#include <gtest/gtest.h>

#include "thinwire/base/error.hpp"

namespace thinwire::link_shim {
namespace {

using fabric::Topology;

/// 1 kB takes a second.
fabric::Link slow_link(Topology topology) {
  return {{Rate::bits_per_second(8000)}, Seconds(0.5), topology};
}

TEST(Endpoint, MessagesLeaveOneAfterTheOther) {
  Endpoint endpoint(slow_link(Topology::unicast), 0, nullptr);

  const Stamp first = endpoint.send(1, 2000, 10);
  const Stamp second = endpoint.send(2, 1000, 10.5);
  const Stamp later = endpoint.send(1, 1000, 20);

  EXPECT_DOUBLE_EQ(first.end_s(), 12);
  EXPECT_DOUBLE_EQ(second.start_s, 12);
  EXPECT_DOUBLE_EQ(second.end_s(), 13);
  EXPECT_DOUBLE_EQ(later.end_s(), 21);  // an idle link saves up nothing
}

TEST(Endpoint, AMessageRunsAtTheSlowerEnd) {
  fabric::Link link = slow_link(Topology::unicast);
  link.rates = {Rate::bits_per_second(8000), Rate::bits_per_second(4000),
                Rate::bits_per_second(16000)};
  Endpoint endpoint(link, 0, nullptr);

  EXPECT_DOUBLE_EQ(endpoint.send(1, 1000, 0).duration_s, 2);
  EXPECT_DOUBLE_EQ(endpoint.send(2, 1000, 0).duration_s, 1);
}

TEST(Endpoint, PacketHeadersTravelToo) {
  fabric::Link link = slow_link(Topology::unicast);
  link.overhead = {.header_bytes = 100, .payload_bytes = 400};
  Endpoint endpoint(link, 0, nullptr);

  EXPECT_DOUBLE_EQ(endpoint.send(1, 1000, 0).duration_s, 1.3);  // three packets
  EXPECT_DOUBLE_EQ(endpoint.send(1, 0, 0).duration_s, 0);
}

TEST(Endpoint, AUnicastPortTakesOneMessageAtATime) {
  Endpoint unicast(slow_link(Topology::unicast), 0, nullptr);
  Endpoint broadcast(slow_link(Topology::broadcast), 0, nullptr);

  for (Endpoint* endpoint : {&unicast, &broadcast})
    EXPECT_DOUBLE_EQ(endpoint->receive({0, 1}), 1.5);  // with the latency

  EXPECT_DOUBLE_EQ(unicast.receive({0, 1}), 2.5);
  EXPECT_DOUBLE_EQ(broadcast.receive({0, 1}), 1.5);
}

TEST(Endpoint, ASharedMediumTakesTheMessagesOfAllInTurn) {
  std::atomic<double> medium_free_s{0};
  Endpoint first(slow_link(Topology::shared), 0, &medium_free_s);
  Endpoint second(slow_link(Topology::shared), 1, &medium_free_s);

  first.send(1, 1000, 5);
  const Stamp stamp = second.send(0, 1000, 5.5);

  EXPECT_DOUBLE_EQ(stamp.start_s, 6);
  EXPECT_DOUBLE_EQ(medium_free_s.load(), 7);
  EXPECT_THROW(Endpoint(slow_link(Topology::shared), 0, nullptr), Error);
}

TEST(Endpoint, ACollectiveBusiesTransmitterPortAndMedium) {
  std::atomic<double> medium_free_s{0};
  Endpoint endpoint(slow_link(Topology::shared), 0, &medium_free_s);
  const Entry before = endpoint.enter(1);

  endpoint.leave(before,
                 {.ready_s = 4, .transmitter_free_s = 2, .port_free_s = 3, .medium_free_s = 4});

  const Entry after = endpoint.enter(1.5);
  EXPECT_DOUBLE_EQ(after.transmitter_free_s, 2);
  EXPECT_DOUBLE_EQ(after.port_free_s, 3);
  EXPECT_DOUBLE_EQ(after.medium_free_s, 4);
  EXPECT_DOUBLE_EQ(endpoint.send(1, 1000, 1.5).start_s, 4);
}

}  // namespace
}  // namespace thinwire::link_shim
