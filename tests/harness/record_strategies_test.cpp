// What single strategies add to a record.
#include <gtest/gtest.h>

#include "thinwire/harness/point.hpp"
#include "thinwire/harness/record.hpp"
#include "thinwire/harness/sweep_runner.hpp"

namespace thinwire::harness {
namespace {

using fabric::LinkTimes;
using fabric::Milestone;

Json predicted(const KeyValues& given) {
  return to_json(predict_point(make_point(make_run_spec(given))));
}

LinkTimes times(double compute_s, double wait_s,
                std::initializer_list<std::pair<Milestone, double>> milestones = {}) {
  LinkTimes result{.compute_s = compute_s, .wait_s = wait_s};
  for (const auto& [milestone, time_s] : milestones)
    result.milestone_s[static_cast<std::size_t>(milestone)] = time_s;
  return result;
}

TEST(RecordOfAPipeline, CountsOneInput) {
  const KeyValues one{{"strategy", "pipeline"}, {"devices", "3"}};
  KeyValues four = one;
  four.emplace_back("micro-batches", "4");

  EXPECT_EQ(predicted(four)["operations"], predicted(one)["operations"]);
  EXPECT_EQ(predicted(four)["traffic"]["per_device"], predicted(one)["traffic"]["per_device"]);
  EXPECT_EQ(predicted(four)["spec"]["micro-batches"], 4);
}

TEST(RecordOfAPipeline, HasThroughputAndBubble) {
  Result result;
  result.spec = make_run_spec({{"strategy", "pipeline"}, {"devices", "2"}, {"micro-batches", "3"}});
  result.predictions = make_point(result.spec).predictions;
  // Two stages of 1 s a step: outputs at 2, 3 and 4 s.
  result.times = {{{times(3, 1), times(3, 1, {{Milestone::first_output, 2}})}}};

  const Json time = to_json(result)["time"];

  EXPECT_DOUBLE_EQ(time["bubble_fraction"].get<double>(), 0.25);
  const Json& link = time["links"][0];
  EXPECT_EQ(link["first_output_s"]["p50"], 2);
  EXPECT_EQ(link["throughput_per_s"]["p50"], 1);
  EXPECT_EQ(link["idle_fraction"]["p50"], 0.25);
}

TEST(RecordOfAPipeline, OfOneInputHasNoThroughput) {
  const Json link = predicted(
      {{"strategy", "pipeline"}, {"devices", "3"}, {"device-gflops", "100"}})["time"]["links"][0];

  EXPECT_TRUE(link["throughput_per_s"].is_null());
  EXPECT_EQ(link["first_output_s"], link["latency_s"]);
}

TEST(RecordWithATerminal, TellsDistributionAndCollectionApart) {
  Result result;
  result.spec = make_run_spec({{"strategy", "voltage"}, {"devices", "2"}, {"io", "terminal"}});
  result.predictions = make_point(result.spec).predictions;
  result.times = {
      {{times(4, 1, {{Milestone::distributed, 1}, {Milestone::computed, 5}}),
        times(4, 2, {{Milestone::distributed, 1.5}, {Milestone::computed, 6}}), times(0.5, 6.5)}}};

  const Json record = to_json(result);

  const Json& time = record["time"];
  EXPECT_EQ(time["distribution_s"][0]["samples"], Json::array({1.5}));
  EXPECT_EQ(time["collection_s"][0]["samples"], Json::array({1.0}));
  EXPECT_EQ(time["links"][0]["latency_s"]["p50"], 7);
  EXPECT_EQ(time["links"][0]["per_device"].size(), 2U);
  EXPECT_EQ(time["links"][0]["terminal"]["compute_s"]["p50"], 0.5);
  EXPECT_GT(record["operations"]["terminal_flops"], 0);
  EXPECT_GT(record["traffic"]["terminal_wire_bytes"], 0);
}

TEST(RecordWithoutATerminal, HasNullInItsPlaces) {
  const Json record = predicted({{"devices", "2"}});

  EXPECT_TRUE(record["time"]["distribution_s"].is_null());
  EXPECT_TRUE(record["time"]["collection_s"].is_null());
  EXPECT_TRUE(record["operations"]["terminal_flops"].is_null());
  EXPECT_TRUE(record["traffic"]["terminal_wire_bytes"].is_null());
  EXPECT_TRUE(record["codebook"].is_null());
  EXPECT_TRUE(record["time"]["overlap"].is_null());
}

TEST(RecordOfATrace, NamesItsCodebook) {
  const Json record = predicted({{"strategy", "trace-b"}, {"devices", "2"}, {"level", "3"}});

  const Json& codebook = record["codebook"];
  EXPECT_EQ(codebook["source"], "random");
  EXPECT_EQ(codebook["codewords"], 1024);
  EXPECT_EQ(codebook["active_codewords"], 32);
  EXPECT_EQ(codebook["levels"], (Json{2, 4, 8, 32, 1024}));
  EXPECT_GT(codebook["calibration_flops"], 0);
  EXPECT_EQ(record["memory"]["buffers_bytes"], 4 * 1024 * 768 * 12);
  EXPECT_GT(record["memory"]["codebooks_bytes"], 0);
}

TEST(RecordOfATrace, ShowsTheOverlapOfEveryExchange) {
  const KeyValues given{
      {"strategy", "trace-b"}, {"devices", "2"}, {"device-gflops", "100"}, {"rate", "1Mbps,1Gbps"}};
  KeyValues off = given;
  off.emplace_back("overlap", "off");

  const Json overlap = predicted(given)["time"]["overlap"];

  ASSERT_EQ(overlap.size(), 12U);
  EXPECT_EQ(overlap[3]["exchange"], 3);
  EXPECT_GT(overlap[3]["window_s"], overlap[0]["window_s"]);  // exchange 0: projections only
  const double slow_s = overlap[3]["transfer_s"][0], fast_s = overlap[3]["transfer_s"][1];
  EXPECT_NEAR(slow_s / fast_s, 1000, 1e-6);
  // At the slowest hidden rate the transfer takes as long as the window.
  const double rate = overlap[3]["slowest_hidden_rate_bit_per_s"][0];
  EXPECT_NEAR(slow_s * 1e6 / rate, overlap[3]["window_s"].get<double>(), 1e-9);
  EXPECT_TRUE(predicted(off)["time"]["overlap"].is_null());
}

}  // namespace
}  // namespace thinwire::harness
