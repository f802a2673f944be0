// PRISM's terminal: what it computes, distributes and collects.
#include <gtest/gtest.h>

#include "cost/workloads.hpp"
#include "thinwire/cost/modelled_time.hpp"

namespace thinwire::cost {
namespace {

using test::make_tiny;
using test::make_workload;
using test::sum;
using test::tiny_bert;
using test::tiny_vit;
using Kind = ScheduledExchange::Kind;

Workload with_terminal(Workload workload) {
  workload.has_terminal = true;
  return workload;
}

TEST(TerminalPrediction, DistributesRowsAndThePeersPayloads) {
  const Prediction prediction = predict(with_terminal(make_tiny(tiny_vit(), "voltage", 2)));

  // N = 5 in 2 and 3 rows of 16 bytes: all of them reach each device, behind 4 bytes.
  const ScheduledExchange& scatter = prediction.exchanges.front();
  EXPECT_EQ(scatter.kind, Kind::scatter);
  EXPECT_EQ(scatter.bytes, (std::vector<std::int64_t>{4 + 80, 4 + 80, 0}));
  EXPECT_EQ(scatter.header_bits, (std::vector<std::int64_t>{32, 32, 0}));
  EXPECT_EQ(prediction.terminal_wire_bytes, 168);
  EXPECT_EQ(scatter.before.back().matmul_macs, 4 * 12 * 4);  // four patches
  EXPECT_EQ(scatter.before.front(), Operations{});
}

TEST(TerminalPrediction, CollectsTheLogitsOfDeviceZero) {
  const Prediction prediction = predict(with_terminal(make_tiny(tiny_vit(), "voltage", 2)));

  ASSERT_EQ(prediction.exchanges.size(), 3U);  // scatter, exchange 1, collect
  EXPECT_EQ(prediction.exchanges[1].kind, Kind::all_gather);
  EXPECT_EQ(prediction.exchanges[2].kind, Kind::collect);
  EXPECT_EQ(prediction.exchanges[2].bytes, (std::vector<std::int64_t>{3 * 4, 0, 0}));
  EXPECT_EQ(prediction.wire_bytes, (std::vector<std::int64_t>{32 + 12, 48}));
}

TEST(TerminalPrediction, MovesTheEmbeddingAndTheFirstEncodingAway) {
  for (const std::string_view strategy : {"voltage", "astra", "trace-b", "trace-nb"}) {
    Workload workload = make_workload("vit-base-16", strategy, 3);
    workload.codewords = 64;
    const Prediction replicated = predict(workload);

    const Prediction terminal = predict(with_terminal(workload));

    Operations all = sum(terminal.device_operations);
    all += terminal.terminal_operations;
    EXPECT_EQ(all, sum(replicated.device_operations)) << strategy;
    Operations first;
    for (const Operations& before : replicated.exchanges[0].before) first += before;
    EXPECT_EQ(terminal.terminal_operations, first) << strategy;
    EXPECT_EQ(terminal.nominal_bits_per_inference, replicated.nominal_bits_per_inference);
  }
}

TEST(TerminalPrediction, FramesKeepTheirHeadersAndPadding) {
  Workload workload = make_tiny(tiny_vit(), "trace-b", 2);
  workload.codewords = 6;  // 3 bits an index

  const ScheduledExchange scatter = predict(with_terminal(workload)).exchanges.front();

  // Device 0: 2 rows, 3 indices of device 1 in 9 bits; device 1: 3 rows, 2 indices in 6 bits.
  EXPECT_EQ(scatter.bytes, (std::vector<std::int64_t>{4 + 32 + 3, 4 + 48 + 2, 0}));
  EXPECT_EQ(scatter.header_bits, (std::vector<std::int64_t>{40, 40, 0}));
  EXPECT_EQ(scatter.padding_bits, (std::vector<std::int64_t>{7, 2, 0}));
}

TEST(TerminalPrediction, CollectsOneOrAllRowsOfALanguageModel) {
  Workload workload = with_terminal(make_workload("gpt2", "prism", 3, 8));
  const std::int64_t row = 50257 * 4;

  EXPECT_EQ(predict(workload).exchanges.back().bytes, (std::vector<std::int64_t>{0, 0, row, 0}));
  workload.collects_all = true;
  EXPECT_EQ(predict(workload).exchanges.back().bytes,
            (std::vector<std::int64_t>{85 * row, 85 * row, 86 * row, 0}));
}

TEST(TerminalPrediction, OfSplitBlocksSendsAllRowsToWhoStarts) {
  Workload tensor = with_terminal(make_tiny(tiny_bert(), "tensor", 2));
  EXPECT_EQ(predict(tensor).exchanges.front().bytes,
            (std::vector<std::int64_t>{4 + 112, 4 + 112, 0}));

  Workload pipeline = with_terminal(make_tiny(tiny_bert(), "pipeline", 2));
  pipeline.model.layers = 2;
  pipeline.micro_batches = 3;
  const Prediction prediction = predict(pipeline);
  EXPECT_EQ(prediction.exchanges.front().bytes, (std::vector<std::int64_t>{4 + 3 * 112, 0, 0}));
  EXPECT_EQ(prediction.exchanges.back().bytes, (std::vector<std::int64_t>{0, 3 * 8, 0}));
  EXPECT_EQ(prediction.terminal_operations.layer_norm_elements, 3 * 28);
}

TEST(TerminalTime, StartsWithTheTerminalAndEndsWithIt) {
  Prediction prediction;
  Operations second;
  second.matmul_macs = 500;  // at 1000 FLOP/s
  prediction.exchanges = {{.kind = Kind::scatter,
                           .bytes = {125, 250, 0},
                           .before = {{}, {}, second},
                           .window = std::vector<Operations>(3)},
                          {.kind = Kind::collect,
                           .bytes = {125, 0, 0},
                           .before = {second, {}, {}},
                           .window = std::vector<Operations>(3)}};
  prediction.tail.resize(2);
  const fabric::Link link{.rates = {Rate::bits_per_second(1000)}};
  const std::vector<double> rates = {1000, 500}, slowness = {2, 1};

  const std::vector<DeviceTime> times =
      modelled_time(std::span(&prediction, 1), link, rates, slowness);

  // 1 s at the terminal; messages of 1 s and 2 s, one after the other; 2 s on device 0, 1 s back.
  ASSERT_EQ(times.size(), 3U);
  EXPECT_DOUBLE_EQ(times[2].compute_s, 1);
  EXPECT_DOUBLE_EQ(times[0].milestone_s[0], 2);
  EXPECT_DOUBLE_EQ(times[1].milestone_s[0], 4);
  EXPECT_DOUBLE_EQ(times[0].milestone_s[2], 4);
  EXPECT_DOUBLE_EQ(times[2].compute_s + times[2].wait_s, 5);
  EXPECT_DOUBLE_EQ(times[0].compute_s + times[0].wait_s, 4);
}

}  // namespace
}  // namespace thinwire::cost
