#include "thinwire/fabric/link.hpp"

#include <gtest/gtest.h>

#include "thinwire/base/error.hpp"

namespace thinwire::fabric {
namespace {

TEST(Link, ParsesOneRateOrOneADevice) {
  const auto one = parse_rates("10Mbps");
  const auto three = parse_rates("10Mbps:20Mbps:1Mbps");

  EXPECT_EQ(one, std::vector{Rate::bits_per_second(1e7)});
  EXPECT_EQ(three, (std::vector{Rate::bits_per_second(1e7), Rate::bits_per_second(2e7),
                                Rate::bits_per_second(1e6)}));
}

TEST(Link, RefusesAnEmptyRate) {
  EXPECT_THROW(parse_rates("10Mbps::1Mbps"), InputError);
}

TEST(Link, RunsATransferAtTheSlowerEnd) {
  const Link link{parse_rates("10Mbps:20Mbps:1Mbps"), Seconds(0), Topology::unicast};

  EXPECT_EQ(link.between(0, 1), Rate::bits_per_second(1e7));
  EXPECT_EQ(link.between(1, 0), Rate::bits_per_second(1e7));
  EXPECT_EQ(link.between(2, 1), Rate::bits_per_second(1e6));
  EXPECT_EQ(link.between(3, 2), Rate::bits_per_second(1e6));  // the terminal, behind the devices
}

TEST(Link, ParsesTheTopologiesThatItPrints) {
  for (const auto topology : {Topology::broadcast, Topology::unicast, Topology::shared}) {
    EXPECT_EQ(parse_topology(to_string(topology)), topology);
    EXPECT_FALSE(topology_summary(topology).empty());
  }
}

TEST(Link, NamesTheKnownTopologies) {
  try {
    parse_topology("ring");
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_NE(std::string_view(error.what()).find("broadcast, unicast, shared"),
              std::string_view::npos)
        << error.what();
  }
}

TEST(PacketOverhead, IsChargedForEveryPacketBegun) {
  Link link;
  link.overhead = kTcpOverhead;

  EXPECT_EQ(link.bytes_on_link(0), 0);
  EXPECT_EQ(link.bytes_on_link(1), 67);
  EXPECT_EQ(link.bytes_on_link(1448), 1448 + 66);
  EXPECT_EQ(link.bytes_on_link(1449), 1449 + 2 * 66);
  EXPECT_EQ(Link{}.bytes_on_link(1449), 1449);
}

TEST(PacketOverhead, ParsesWhatItPrints) {
  for (const auto overhead : {PacketOverhead{}, kTcpOverhead, PacketOverhead{40, 100}})
    EXPECT_EQ(parse_overhead(to_string(overhead)), overhead);
  EXPECT_EQ(to_string(parse_overhead("66B/1448B")), "tcp");
  EXPECT_EQ(to_string(parse_overhead("0B/1448B")), "none");
  for (const char* wrong : {"", "udp", "66", "66B", "66B/0B", "66B/1448B/2B", "-1B/10B"})
    EXPECT_THROW(parse_overhead(wrong), InputError) << wrong;
}

TEST(Link, PrintsRateLatencyAndTopology) {
  const Link link{parse_rates("10Mbps"), Seconds(0.002), Topology::unicast};

  EXPECT_EQ(to_string(link), "10 Mbps, 2 ms, unicast");
}

TEST(Link, PrintedRatesCanBeParsedAgain) {
  const auto rates = parse_rates("10Mbps:2.5Gbps:unlimited");

  EXPECT_EQ(parse_rates(rates_to_string(rates)), rates);
}

}  // namespace
}  // namespace thinwire::fabric
