#include "thinwire/fabric/rate_trace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "thinwire/base/error.hpp"
#include "thinwire/fabric/link_model.hpp"

namespace thinwire::fabric {
namespace {

using Steps = std::vector<RateTrace::Step>;

/// 10 bit/s for 2 s, down for 1 s, 40 bit/s for 3 s, 5 bit/s for 3 s: 155 bits in 9 s.
RateTrace small_trace() {
  return {"small", {{0, 10}, {2, 0}, {3, 40}, {6, 5}}};
}

/// Step after step, trace after trace.
double walked_end_s(const RateTrace& trace, double start_s, double bits) {
  for (double begin_s = 0;; begin_s += trace.duration_s())
    for (std::size_t i = 0; i < trace.steps().size(); ++i) {
      const bool is_last = i + 1 == trace.steps().size();
      const double end_s = begin_s + (is_last ? trace.duration_s() : trace.steps()[i + 1].start_s);
      const double from_s = std::max(start_s, begin_s + trace.steps()[i].start_s);
      if (from_s >= end_s) continue;
      const double room = trace.steps()[i].bit_per_s * (end_s - from_s);
      if (room > 0 && bits <= room * (1 + 1e-12)) return from_s + bits / trace.steps()[i].bit_per_s;
      bits -= room;
    }
}

RateTrace random_trace(std::mt19937& random) {
  std::uniform_real_distribution<double> length(0.01, 2), rate(1, 1000);
  const int count = std::uniform_int_distribution(2, 12)(random);
  Steps steps;
  double start_s = 0;
  for (int i = 0; i < count; ++i) {
    const bool is_down = i > 0 && random() % 3 == 0;
    steps.push_back({start_s, is_down ? 0 : rate(random)});
    start_s += length(random);
  }
  return {"random", std::move(steps)};
}

std::string error_of(std::string_view text) {
  try {
    parse_rate_trace("t", text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(RateTrace, TheLastStepIsAsLongAsTheOneBeforeIt) {
  const RateTrace trace = small_trace();

  EXPECT_EQ(trace.duration_s(), 9);
  EXPECT_DOUBLE_EQ(trace.mean_rate().bit_per_s(), 155.0 / 9);
}

TEST(RateTrace, KnowsTheRateAtAnyTime) {
  const RateTrace trace = small_trace();

  EXPECT_EQ(trace.bit_per_s_at(0), 10);
  EXPECT_EQ(trace.bit_per_s_at(2), 0);
  EXPECT_EQ(trace.bit_per_s_at(5.999), 40);
  EXPECT_EQ(trace.bit_per_s_at(8.999), 5);
  EXPECT_EQ(trace.bit_per_s_at(9), 10);  // again
  EXPECT_EQ(trace.bit_per_s_at(9 * 1000 + 4), 40);
}

TEST(RateTrace, ATransferTakesWhatTheStepsGive) {
  const RateTrace trace = small_trace();

  EXPECT_DOUBLE_EQ(trace.end_s(0.5, 10), 1.5);         // within a step
  EXPECT_DOUBLE_EQ(trace.end_s(1, 50), 4);             // 10, nothing for a second, 40
  EXPECT_DOUBLE_EQ(trace.end_s(2.5, 20), 3.5);         // begins in the outage
  EXPECT_DOUBLE_EQ(trace.end_s(8, 25), 11);            // 5, then from the beginning: 20 in 2 s
  EXPECT_DOUBLE_EQ(trace.end_s(8, 26), 12.025);        // ... a second of nothing, one at 40 bit/s
  EXPECT_DOUBLE_EQ(trace.end_s(4, 10 * 155), 4 + 90);  // ten times round
  EXPECT_EQ(trace.end_s(7, 0), 7);
}

TEST(RateTrace, WhatEndsWithAStepDoesNotWaitForTheOutageBehindIt) {
  const RateTrace down_at_first("t", {{0, 0}, {4, 8}, {6, 1}});

  EXPECT_DOUBLE_EQ(small_trace().end_s(1, 10), 2);
  EXPECT_DOUBLE_EQ(small_trace().end_s(1, 10 + 155), 11);
  EXPECT_DOUBLE_EQ(down_at_first.end_s(0, 18), 8);  // all of the trace, and no outage of the next
  EXPECT_DOUBLE_EQ(down_at_first.end_s(8, 18), 16);
  EXPECT_DOUBLE_EQ(down_at_first.end_s(7, 9), 8 + 5);
}

TEST(RateTrace, AgreesWithAWalkThroughTheSteps) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    const RateTrace trace = random_trace(random);
    std::uniform_real_distribution<double> start(0, 3 * trace.duration_s()), bits(0, 5000);
    const double start_s = start(random), count = bits(random);

    const double end_s = trace.end_s(start_s, count);

    ASSERT_NEAR(end_s, walked_end_s(trace, start_s, count), 1e-9 * (1 + end_s))
        << "round " << round << " from " << start_s << " with " << count;
  }
}

TEST(RateTrace, TransfersInARowTakeAsLongAsOne) {
  std::mt19937 random(11);
  for (int round = 0; round < 500; ++round) {
    const RateTrace trace = random_trace(random);
    const double start_s = trace.duration_s() * (round % 7) / 3;
    double end_s = start_s;
    for (int part = 1; part <= 20; ++part) end_s = trace.end_s(end_s, 10 * part);

    ASSERT_NEAR(end_s, trace.end_s(start_s, 2100), 1e-9 * (1 + end_s)) << "round " << round;
  }
}

TEST(RateTrace, SpreadsIterationsEvenlyHoweverManyThereAre) {
  const RateTrace trace = small_trace();
  EXPECT_EQ(trace.iteration_start_s(0), 0);
  for (const int count : {5, 10, 33, 100}) {
    std::vector<double> starts;
    for (int i = 0; i < count; ++i) starts.push_back(trace.iteration_start_s(i));
    std::ranges::sort(starts);
    starts.push_back(trace.duration_s());
    double widest_s = 0;
    for (std::size_t i = 1; i < starts.size(); ++i)
      widest_s = std::max(widest_s, starts[i] - starts[i - 1]);
    EXPECT_LE(widest_s, 2 * trace.duration_s() / count) << count;
  }
}

TEST(RateTrace, IsTheSameByItsNameAndSteps) {
  const RateTrace other("small", {{0, 10}, {2, 0}, {3, 40}, {6, 6}});

  EXPECT_EQ(small_trace(), small_trace());
  EXPECT_EQ(small_trace().fingerprint(), small_trace().fingerprint());
  EXPECT_FALSE(other == small_trace());
  EXPECT_NE(other.fingerprint(), small_trace().fingerprint());
  EXPECT_FALSE(RateTrace("other", {other.steps().begin(), other.steps().end()}) == other);
}

TEST(ParseRateTrace, ReadsTimesAndRatesWithUnits) {
  const RateTrace trace = parse_rate_trace(
      "a.csv",
      "# made\r\ntime, rate\n\n0, 10 Mbps\n250ms,0\n 1.5 s , 250kbit/s \n# end\n2 s,0 bps");

  EXPECT_EQ(trace.name(), "a.csv");
  EXPECT_EQ(Steps(trace.steps().begin(), trace.steps().end()),
            (Steps{{0, 1e7}, {0.25, 0}, {1.5, 250e3}, {2, 0}}));
  EXPECT_EQ(trace.duration_s(), 2.5);
}

TEST(ParseRateTrace, NamesTheLineThatIsWrong) {
  const auto says = [](std::string_view text, std::string_view what) {
    EXPECT_NE(error_of(text).find(what), std::string::npos) << error_of(text);
  };
  says("0 s, 1 Mbps\n1, 1 Mbps", "line 2: time=1 has no unit");
  says("0 s, 1 Mbps\n1 s, 1", "line 2: rate=1 has no unit");
  says("0 s, 1 Mbps\n1 s, 1 MBps", "line 2: rate=1 MBps is in bytes");
  says("0 s, 1 Mbps\n1 s, -1 Mbps", "line 2: rate=-1 Mbps is negative");
  says("0 s, 1 Mbps\n1 s, unlimited", "line 2: rate=unlimited");
  says("0 s, 1 Mbps\n1 s, nan", "line 2: rate=nan");
  says("# one\n0 s, 1 Mbps\n1 s, 1 Mbps\n1 s, 2 Mbps", "line 4: the time 1 s is not after 1 s");
  says("time,rate\n1 s, 1 Mbps\n2 s, 1 Mbps", "line 2: the first time is 1 s, not 0 s");
  says("seconds,rate\n0 s, 1 Mbps", "line 1: time=seconds");
  says("0 s, 1 Mbps\ntime,rate", "line 2: time=time");
  says("0 s; 1 Mbps", "line 1: '0 s; 1 Mbps' is not a time and a rate");
  says("0 s, 1 Mbps, 3", "line 1: '0 s, 1 Mbps, 3' is not a time and a rate");
  says("", "two lines of time and rate or more, not 0");
  says("0 s, 1 Mbps", "two lines of time and rate or more, not 1");
  says("0 s, 1 bps\n1e12 h, 1 bps", "out of range");
  says("0 s, 1 bps\n1e-9 s, 1 bps", "out of range");
  says("0 s, 1e290 Gbps\n1 s, 0", "out of range");
  says("0 s, 0 Mbps\n1 s, 0", "the rate is 0 throughout");
}

TEST(LinkModelTrace, ATraceOfOneRateIsThatRate) {
  const RateTrace flat("flat", {{0, 8}, {1e6, 8}});
  for (const Topology topology : {Topology::broadcast, Topology::unicast, Topology::shared}) {
    Link traced = link_of(flat), plain{.rates = {Rate::bits_per_second(8)}};
    traced.topology = plain.topology = topology;
    traced.latency = plain.latency = Seconds(0.5);
    LinkModel model(traced, 3), same(plain, 3);
    std::vector<double> arrival(3), expected(3);
    const std::vector<double> ready = {1, 0, 2};
    const std::vector<std::int64_t> bytes = {3, 1, 2};

    for (int exchange = 0; exchange < 3; ++exchange) {
      model.all_gather(ready, bytes, arrival);
      same.all_gather(ready, bytes, expected);

      EXPECT_EQ(arrival, expected) << to_string(topology);
    }
  }
}

TEST(LinkModelTrace, DevicesInStepTakeAsLongAsOneByOne) {
  const std::vector<double> ready(5, 0.3);
  const std::vector<std::int64_t> bytes(5, 7);
  for (int iteration = 0; iteration < 20; ++iteration) {
    LinkModel quick(link_of(small_trace()), 5), logged(link_of(small_trace()), 5);
    quick.reset(iteration);
    logged.reset(iteration);
    std::vector<double> arrival(5), expected(5);
    std::vector<Transfer> log;  // with which the rounds are played one by one

    quick.all_gather(ready, bytes, arrival);
    logged.all_gather(ready, bytes, expected, &log);

    EXPECT_EQ(arrival, expected) << iteration;
    EXPECT_EQ(quick.link_bits(), logged.link_bits());
  }
}

TEST(LinkModelTrace, AnIterationBeginsFurtherInTheTrace) {
  const RateTrace trace = small_trace();
  LinkModel model(link_of(trace), 2);
  const std::vector<double> ready = {0.5, 0.5};
  const std::vector<std::int64_t> bytes = {5, 5};
  for (const int iteration : {0, 1, 2, 3, 50}) {
    std::vector<double> arrival(2);
    const double start_s = trace.iteration_start_s(iteration);

    model.reset(iteration);
    model.all_gather(ready, bytes, arrival);

    EXPECT_DOUBLE_EQ(arrival[0], trace.end_s(start_s + 0.5, 40) - start_s) << iteration;
  }
}

TEST(LinkModelTrace, RecordsKnowItByItsMeanRate) {
  const Link link = link_of(small_trace());

  EXPECT_EQ(to_string(link), "small, 0 s, unicast");
  EXPECT_EQ(link.rates, std::vector{small_trace().mean_rate()});
  EXPECT_FALSE(at_mean_rate(link).trace);
  EXPECT_EQ(at_mean_rate(link).rates, link.rates);
}

}  // namespace
}  // namespace thinwire::fabric
