// Losses of a link: how often, the same for all who ask, and what a retransmission costs.
#include "thinwire/fabric/loss.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "devices.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/fabric/fabric.hpp"

namespace thinwire::fabric {
namespace {

constexpr std::int64_t kPackets = 100'000;

Loss loss_of(double probability, OnLoss policy = OnLoss::retransmit, std::uint64_t seed = 7) {
  return {.probability = probability, .policy = policy, .seed = seed};
}

/// Four standard deviations of a mean of kPackets draws.
double four_deviations(double variance) {
  return 4 * std::sqrt(variance / static_cast<double>(kPackets));
}

TEST(Loss, LosesAsManyPacketsAsItsProbabilitySays) {
  for (const double probability : {0.01, 0.2, 0.5, 0.9}) {
    SCOPED_TRACE(probability);
    const MessageLosses losses(loss_of(probability), {3, 4}, 0, 1);
    std::int64_t lost = 0, sent = 0;
    for (std::int64_t packet = 0; packet < kPackets; ++packet) {
      lost += losses.is_lost(packet) ? 1 : 0;
      sent += losses.transmissions(packet);
    }

    EXPECT_NEAR(static_cast<double>(lost) / kPackets, probability,
                four_deviations(probability * (1 - probability)));
    EXPECT_NEAR(static_cast<double>(sent) / kPackets, loss_of(probability).mean_transmissions(1),
                four_deviations(probability / std::pow(1 - probability, 2)));
  }
}

TEST(Loss, RepeatsUntilEveryReceiverHasThePacket) {
  constexpr double kProbability = 0.3;
  const Loss loss = loss_of(kProbability);
  const MessageLosses first(loss, {}, 0, 1), second(loss, {}, 0, 2);
  double sent = 0;
  for (std::int64_t packet = 0; packet < kPackets; ++packet)
    sent += std::max(first.transmissions(packet), second.transmissions(packet));

  // E max = 2 / (1 - p) - 1 / (1 - p^2): either of two, less both.
  const double expected = 2 / (1 - kProbability) - 1 / (1 - kProbability * kProbability);
  EXPECT_NEAR(loss.mean_transmissions(2), expected, 1e-9);
  EXPECT_NEAR(sent / kPackets, expected, four_deviations(1));
  EXPECT_EQ(loss_of(kProbability, OnLoss::skip).mean_transmissions(2), 1);
}

TEST(Loss, IsAnotherForEveryPartOfItsNumber) {
  const auto draws_of = [](const Loss& loss, ExchangeNumber number, int from, int to) {
    std::vector<int> draws;
    const MessageLosses losses(loss, number, from, to);
    for (std::int64_t packet = 0; packet < 64; ++packet)
      draws.push_back(losses.transmissions(packet));
    return draws;
  };
  const auto draws = draws_of(loss_of(0.5), {1, 2}, 3, 4);

  EXPECT_EQ(draws, draws_of(loss_of(0.5), {1, 2}, 3, 4));
  EXPECT_NE(draws, draws_of(loss_of(0.5, OnLoss::retransmit, 8), {1, 2}, 3, 4));
  EXPECT_NE(draws, draws_of(loss_of(0.5), {2, 2}, 3, 4));
  EXPECT_NE(draws, draws_of(loss_of(0.5), {2, 1}, 3, 4));
  EXPECT_NE(draws, draws_of(loss_of(0.5), {1, 3}, 3, 4));
  EXPECT_NE(draws, draws_of(loss_of(0.5), {1, 2}, 2, 4));
  EXPECT_NE(draws, draws_of(loss_of(0.5), {1, 2}, 4, 3));
}

TEST(Loss, NamesItsPolicies) {
  for (const OnLoss policy : {OnLoss::retransmit, OnLoss::skip, OnLoss::reuse})
    EXPECT_EQ(parse_on_loss(to_string(policy)), policy);
  EXPECT_THROW(parse_on_loss("ignore"), InputError);
}

/// 8 bit/s: a byte takes a second.
Link slow_link(Topology topology, double probability, double latency_s = 0) {
  return {.rates = {Rate::bits_per_second(8)},
          .latency = Seconds(latency_s),
          .topology = topology,
          .overhead = {.header_bytes = 2, .payload_bytes = 10},
          .loss = loss_of(probability)};
}

/// Sizes of the packets of 25 bytes, headers included.
constexpr std::int64_t kSizes[] = {12, 12, 7};

TEST(Retransmission, OccupiesTheLinkForEveryTransmission) {
  const Link link = slow_link(Topology::unicast, 0.6, 0.25);
  LinkModel model(link, 2);
  for (std::uint64_t inference = 0; inference < 20; ++inference) {
    SCOPED_TRACE(inference);
    model.reset(inference);
    std::vector<double> arrival(2);
    model.all_gather(std::vector<double>{1, 0}, std::vector<std::int64_t>{25, 0}, arrival);

    const MessageLosses losses(link.loss, {inference, 0}, 0, 1);
    std::int64_t bytes = 0, repeats = 0;
    int most = 0;
    for (std::int64_t packet = 0; packet < 3; ++packet) {
      bytes += losses.transmissions(packet) * kSizes[packet];
      repeats += losses.transmissions(packet) - 1;
      most = std::max(most, losses.transmissions(packet));
    }
    EXPECT_EQ(model.link_bits(), 8 * bytes);
    EXPECT_EQ(model.repeated_packets(), repeats);
    EXPECT_DOUBLE_EQ(arrival[1], 1 + static_cast<double>(bytes) + 0.25 * (1 + 2 * (most - 1)));
  }
}

TEST(Retransmission, OfABroadcastGoesOnUntilAllHaveIt) {
  const Link link = slow_link(Topology::broadcast, 0.5);
  LinkModel model(link, 3);
  std::vector<double> arrival(3);
  model.all_gather(std::vector<double>{0, 0, 0}, std::vector<std::int64_t>{0, 7, 0}, arrival);

  const int sent = std::max(MessageLosses(link.loss, {}, 1, 0).transmissions(0),
                            MessageLosses(link.loss, {}, 1, 2).transmissions(0));
  EXPECT_EQ(model.link_bits(), 8 * 9 * sent);
  EXPECT_DOUBLE_EQ(arrival[0], 9.0 * sent);
}

TEST(Retransmission, DrawsAnewForEveryCollective) {
  const Link link = slow_link(Topology::shared, 0.5);
  LinkModel whole(link, 2), first(link, 2), second(link, 2);
  const std::vector<double> ready(2), nothing(2);
  const std::vector<std::int64_t> bytes{100, 0}, empty(2);
  std::vector<double> arrival(2);
  whole.all_gather(ready, bytes, arrival);
  first.all_gather(ready, bytes, arrival);
  whole.all_gather(ready, empty, arrival);  // carries nothing, and has no number
  whole.all_gather(ready, bytes, arrival);

  std::vector<double> state(first.state_size());
  first.save_state(state);
  second.load_state(state);
  second.all_gather(ready, bytes, arrival);
  EXPECT_EQ(whole.link_bits(), second.link_bits());
  EXPECT_EQ(whole.repeated_packets(), second.repeated_packets());
  EXPECT_NE(whole.link_bits(), 2 * first.link_bits());
}

TEST(Retransmission, CostsTheExpectedBitsOnAverage) {
  const Link link = slow_link(Topology::unicast, 0.3);
  LinkModel model(link, 3);
  std::vector<double> arrival(3);
  double bits = 0;
  constexpr int kInferences = 20'000;
  for (std::uint64_t inference = 0; inference < kInferences; ++inference) {
    model.reset(inference);
    model.all_gather(std::vector<double>(3), std::vector<std::int64_t>{25, 0, 0}, arrival);
    bits += static_cast<double>(model.link_bits());
  }

  const double expected = 8.0 * 2 * 31 / 0.7;
  EXPECT_NEAR(bits / kInferences, expected, 0.01 * expected);
  EXPECT_NEAR(static_cast<double>(link.mean_bytes_on_link(25, 1)), 31 / 0.7, 0.5);
}

TEST(Link, CutsMessagesAsTheOverheadSays) {
  EXPECT_EQ(Link{}.packet_bytes(), 1448);
  EXPECT_EQ(slow_link(Topology::shared, 0).packet_bytes(), 10);
}

/// Every device gathers `bytes` bytes of its number + 1; returns what each has then.
struct Received {
  std::vector<std::byte> bytes;
  std::vector<bool> is_missing;                   ///< [packet of any sender]
  std::vector<std::array<std::int64_t, 3>> lost;  ///< sender, begin and end of its bytes
  LossCounts losses;
};

std::vector<Received> gather_over(const Link& link, int devices, std::size_t bytes,
                                  std::optional<ExchangeNumber> number, Clock clock) {
  std::vector<Received> all(static_cast<std::size_t>(devices));
  test::on_devices(devices, [&](Transport& transport) {
    const auto fabric = make_fabric(transport, {.clock = clock, .links = {link}});
    Received& received = all[static_cast<std::size_t>(transport.rank())];
    const std::vector<std::byte> mine(bytes, std::byte(transport.rank() + 1));
    received.bytes.resize(bytes * static_cast<std::size_t>(devices));
    fabric->begin_iteration();
    const Delivery delivery =
        fabric->wait(fabric->all_gather({.bytes = mine}, received.bytes, {}, number));
    EXPECT_EQ(delivery.is_lossy(), number.has_value());
    for (int from = 0; from < devices; ++from)
      for (std::int64_t begin = 0; begin < std::ssize(mine); begin += link.packet_bytes())
        received.is_missing.push_back(delivery.is_missing(from, begin, begin + 1));
    for (int from = 0; from < devices; ++from)
      delivery.for_each_lost(from, [&](std::int64_t begin, std::int64_t end) {
        received.lost.push_back({from, begin, end});
      });
    received.losses = fabric->end_iteration().losses;
  });
  return all;
}

TEST(DroppingLink, LeavesNothingOfALostPacket) {
  Link link = slow_link(Topology::broadcast, 0.5);
  link.rates = {Rate::unlimited()};
  link.loss.policy = OnLoss::skip;
  for (const Clock clock : {Clock::emulated, Clock::native}) {
    const std::vector<Received> all = gather_over(link, 3, 95, ExchangeNumber{5, 6}, clock);
    for (int device = 0; device < 3; ++device) {
      const Received& received = all[static_cast<std::size_t>(device)];
      std::int64_t lost = 0;
      std::vector<std::array<std::int64_t, 3>> visited;
      for (int from = 0; from < 3; ++from) {
        const MessageLosses losses(link.loss, {5, 6}, from, device);
        for (std::size_t i = 0; i < 95; ++i) {
          const auto packet = static_cast<std::int64_t>(i / 10);
          const bool is_lost = from != device && losses.is_lost(packet);
          EXPECT_EQ(received.is_missing[static_cast<std::size_t>(from * 10 + packet)], is_lost);
          EXPECT_EQ(received.bytes[static_cast<std::size_t>(from) * 95 + i],
                    is_lost ? Delivery::kLostByte : std::byte(from + 1));
          if (!is_lost || i % 10 != 0) continue;
          ++lost;
          visited.push_back({from, packet * 10, std::min<std::int64_t>(95, packet * 10 + 10)});
        }
      }
      EXPECT_GT(lost, 0);
      EXPECT_EQ(received.lost, visited);
      EXPECT_EQ(received.losses.packets, 20);
      EXPECT_EQ(received.losses.lost_packets, lost);
    }
  }
}

TEST(DroppingLink, DeliversWhatHasNoNumber) {
  Link link = slow_link(Topology::unicast, 0.9);
  link.loss.policy = OnLoss::reuse;

  for (const Received& received : gather_over(link, 2, 95, std::nullopt, Clock::emulated)) {
    EXPECT_EQ(std::ranges::count(received.bytes, Delivery::kLostByte), 0);
    EXPECT_TRUE(received.lost.empty());
    EXPECT_EQ(received.losses, LossCounts{});
  }
}

TEST(DroppingLink, IsOneForAllSettingsOfAnExecution) {
  Link fast = slow_link(Topology::unicast, 0.1);
  fast.loss.policy = OnLoss::skip;
  Link other = fast;
  other.overhead = {};
  const auto make = [](const std::vector<Link>& links) {
    const auto transport = make_solo_transport();
    make_fabric(*transport, {.links = links});
  };
  EXPECT_NO_THROW(make({fast, fast}));
  EXPECT_THROW(make({fast, other}), InputError);  // cuts packets of another size
}

TEST(WallClock, SendsNoPacketAgain) {
  const auto transport = make_solo_transport();
  for (const Clock clock : {Clock::native, Clock::throttled})
    EXPECT_THROW(
        make_fabric(*transport, {.clock = clock, .links = {slow_link(Topology::unicast, 0.1)}}),
        InputError);
}

}  // namespace
}  // namespace thinwire::fabric
