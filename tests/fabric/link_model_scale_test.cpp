#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <tuple>

#include "thinwire/fabric/link_model.hpp"

// An all-gather is played by shorter ways than one message after the other. This file holds them
// against that, to the last bit, over collectives in a row that find resources busy.

namespace thinwire::fabric {
namespace {

using Times = std::vector<double>;
using Sizes = std::vector<std::int64_t>;

std::size_t at(int node) {
  return static_cast<std::size_t>(node);
}

/// ACCOUNTING 4, message by message: the plain form of LinkModel::all_gather.
class PlainLink {
 public:
  PlainLink(Link link, int devices)
      : link_(std::move(link)),
        devices_(devices),
        transmitter_s_(at(devices)),
        port_s_(at(devices)) {}

  Times all_gather(const Times& ready_s, const Sizes& bytes) {
    Times latest_s(at(devices_));
    if (link_.topology == Topology::broadcast) {
      for (int from = 0; from < devices_ && devices_ > 1; ++from)
        broadcast(from, ready_s, bytes, latest_s);
      return latest_s;
    }
    std::vector<std::pair<int, int>> messages;  // from, to
    for (int round = 1; round < devices_; ++round)
      for (int from = 0; from < devices_; ++from)
        messages.emplace_back(from, (from + round) % devices_);
    if (link_.topology == Topology::shared)
      std::ranges::stable_sort(messages, {}, [&](const auto& message) {
        return std::tuple(ready_s[at(message.first)], message.first);
      });
    for (const auto& [from, to] : messages) unicast(from, to, ready_s, bytes, latest_s);
    return latest_s;
  }
  std::int64_t link_bits() const { return link_bits_; }

 private:
  void broadcast(int from, const Times& ready_s, const Sizes& bytes, Times& latest_s) {
    if (bytes[at(from)] == 0) return;
    const double start_s = std::max(ready_s[at(from)], transmitter_s_[at(from)]);
    const double end_s = occupy(from, start_s, bytes[at(from)], std::ranges::min(link_.rates));
    for (int to = 0; to < devices_; ++to)
      if (to != from)
        latest_s[at(to)] = std::max(latest_s[at(to)], end_s + link_.latency.value_s());
  }

  void unicast(int from, int to, const Times& ready_s, const Sizes& bytes, Times& latest_s) {
    if (bytes[at(from)] == 0) return;
    const double busy_s = link_.topology == Topology::shared ? medium_s_ : port_s_[at(to)];
    const double start_s = std::max({ready_s[at(from)], transmitter_s_[at(from)], busy_s});
    const double end_s = occupy(from, start_s, bytes[at(from)], link_.between(from, to));
    port_s_[at(to)] = end_s;
    latest_s[at(to)] = std::max(latest_s[at(to)], end_s + link_.latency.value_s());
  }

  double occupy(int from, double start_s, std::int64_t bytes, Rate rate) {
    const std::int64_t bits = 8 * link_.bytes_on_link(bytes);
    const double end_s = start_s + rate.seconds_for(static_cast<double>(bits));
    transmitter_s_[at(from)] = end_s;
    medium_s_ = std::max(medium_s_, end_s);
    link_bits_ += bits;
    return end_s;
  }

  Link link_;
  int devices_;
  Times transmitter_s_, port_s_;
  double medium_s_ = 0;
  std::int64_t link_bits_ = 0;
};

/// What devices publish: all alike, all but the last, or each its own.
enum class Kind { equal, last_differs, random, some_silent };
constexpr std::array kKinds = {Kind::equal, Kind::last_differs, Kind::random, Kind::some_silent};

struct Collective {
  Times ready_s;
  Sizes bytes;
};

Collective make_collective(Kind kind, int devices, double after_s, std::mt19937& random) {
  std::uniform_real_distribution<double> part;
  Collective made{Times(at(devices), after_s + part(random)),
                  Sizes(at(devices), 1 + random() % 999)};
  if (kind == Kind::last_differs) made.bytes.back() += 3;
  for (int p = 0; p < devices; ++p) {
    if (kind == Kind::random) made.ready_s[at(p)] = after_s + part(random);
    if (kind == Kind::random) made.bytes[at(p)] = 1 + random() % 999;
    if (kind == Kind::some_silent && random() % 2 == 0) made.bytes[at(p)] = 0;
  }
  return made;
}

Link make_link(Topology topology, bool has_own_rates, int devices, std::mt19937& random) {
  std::uniform_real_distribution<double> bit_per_s(1e3, 1e5);
  Link link{.rates = {},
            .latency = Seconds(0.0013),
            .topology = topology,
            .overhead = {.header_bytes = has_own_rates ? 0 : 7, .payload_bytes = 100}};
  for (int p = 0; p < (has_own_rates ? devices : 1); ++p)
    link.rates.push_back(Rate::bits_per_second(bit_per_s(random)));
  return link;
}

void expect_equal_rounds(const Link& link, int devices, Kind first, Kind second,
                         std::mt19937& random) {
  LinkModel model(link, devices);
  PlainLink plain(link, devices);
  double now_s = 0;
  for (const Kind kind : {first, second, first}) {
    const Collective collective = make_collective(kind, devices, now_s, random);
    Times arrival_s(at(devices));

    model.all_gather(collective.ready_s, collective.bytes, arrival_s);

    EXPECT_EQ(arrival_s, plain.all_gather(collective.ready_s, collective.bytes));
    EXPECT_EQ(model.link_bits(), plain.link_bits());
    now_s += 0.01;  // the next one finds resources busy
  }
}

TEST(LinkModelScale, ShorterWaysEqualMessageByMessageToTheLastBit) {
  std::mt19937 random(11);
  for (const Topology topology : {Topology::broadcast, Topology::unicast, Topology::shared})
    for (const int devices : {1, 2, 3, 7, 16})
      for (const Kind first : kKinds)
        for (const Kind second : kKinds)
          for (const bool has_own_rates : {false, true}) {
            SCOPED_TRACE(testing::Message() << to_string(topology) << " devices=" << devices
                                            << " first=" << static_cast<int>(first)
                                            << " second=" << static_cast<int>(second)
                                            << " own rates=" << has_own_rates);
            const Link link = make_link(topology, has_own_rates, devices, random);
            expect_equal_rounds(link, devices, first, second, random);
          }
}

TEST(LinkModelScale, ALogChangesNothing) {
  std::mt19937 random(5);
  for (const Topology topology : {Topology::broadcast, Topology::unicast, Topology::shared})
    for (const Kind kind : kKinds) {
      SCOPED_TRACE(to_string(topology));
      const Link link = make_link(topology, false, 9, random);
      const Collective collective = make_collective(kind, 9, 0, random);
      LinkModel logged(link, 9), silent(link, 9);
      Times with_log_s(9), without_s(9);
      std::vector<double> state(logged.state_size()), same(silent.state_size());
      std::vector<Transfer> log;

      logged.all_gather(collective.ready_s, collective.bytes, with_log_s, &log);
      silent.all_gather(collective.ready_s, collective.bytes, without_s);
      logged.save_state(state);
      silent.save_state(same);

      EXPECT_EQ(with_log_s, without_s);
      EXPECT_EQ(state, same);
    }
}

TEST(LinkModelScale, EqualMessagesOfAThousandDevicesTakeTheirClosedForm) {
  constexpr int kDevices = 1000;
  const Link link{.rates = {Rate::bits_per_second(8)}, .topology = Topology::unicast};
  LinkModel model(link, kDevices);
  Times arrival_s(kDevices);

  model.all_gather(Times(kDevices, 2.0), Sizes(kDevices, 3), arrival_s);

  EXPECT_EQ(arrival_s, Times(kDevices, 2.0 + 999 * 3));  // a byte a second
  EXPECT_EQ(model.link_bits(), std::int64_t{8} * 3 * 1000 * 999);
}

}  // namespace
}  // namespace thinwire::fabric
