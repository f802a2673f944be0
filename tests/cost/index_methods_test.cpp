// ASTRA and the TRACE family: TRACE's printed cells, and counts by hand.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>

#include "cost/workloads.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/base/units.hpp"
#include "thinwire/cost/modelled_time.hpp"
#include "thinwire/cost/printed.hpp"

namespace thinwire::cost {
namespace {

using compress::Buffers;
using test::input_error_of;
using test::make_tiny;
using test::make_workload;
using test::sum;
using test::tiny_bert;
using test::tiny_vit;

Workload coded(std::string_view preset, std::string_view strategy, int devices,
               Index codewords = 1024, Index active = 0) {
  Workload workload = make_workload(preset, strategy, devices);
  workload.codewords = codewords;
  workload.active_codewords = active;
  return workload;
}

Workload tiny_coded(const model::ModelConfig& model, std::string_view strategy,
                    Buffers buffers = Buffers::kv) {
  Workload workload = make_tiny(model, strategy, 2);
  workload.codewords = 6;
  workload.buffers = buffers;
  return workload;
}

/// What all devices do for a block that is neither the first nor the last: between two
/// publications.
double block_flops(const Workload& workload) {
  const Prediction prediction = predict(workload);
  const Operations work = sum(prediction.exchanges[4].window) + sum(prediction.exchanges[5].before);
  return static_cast<double>(flops(work, Convention::paper));
}

TEST(CompressionRatio, IsTraceFigure7) {
  const auto printed = [](std::string_view strategy, Index active) {
    return round_half_up(predict(coded("vit-base-16", strategy, 2, 1024, active)).compression_rate,
                         0);
  };

  EXPECT_EQ(printed("trace-b", 1024), 2426);
  EXPECT_EQ(printed("trace-b", 32), 4813);
  EXPECT_EQ(printed("trace-b", 8), 7937);
  EXPECT_EQ(printed("trace-b", 4), 11751);  // derived from printed differences
  EXPECT_EQ(printed("trace-b", 2), 22624);
  EXPECT_EQ(printed("astra", 1024), 1528);
}

TEST(CompressionRatio, OverAstraIsAMatterOfIndexWidths) {
  Workload astra = coded("vit-base-16", "astra", 2);
  const double trace = predict(coded("vit-base-16", "trace-b", 2)).compression_rate;
  EXPECT_NEAR(trace / predict(astra).compression_rate, 1.59, 0.005);

  astra.index_bits = compress::IndexBits::packed;

  EXPECT_EQ(predict(astra).nominal_bits_per_exchange, 990);
  EXPECT_EQ(predict(coded("vit-base-16", "trace-b", 2)).nominal_bits_per_exchange, 998);
}

TEST(CompressionRatio, OfViVitIsNearTheOneOfTheAbstract) {
  EXPECT_NEAR(predict(coded("vivit-base-16x2", "trace-b", 2, 1024, 2)).compression_rate, 24444, 1);
}

TEST(NominalCommunication, ReproducesTraceAndAstraAt10Mbps) {
  const fabric::Link link{.rates = {Rate::parse("10Mibps")}};
  const auto milliseconds = [&](std::string_view strategy, Index active) {
    return round_half_up(1e3 * nominal_communication_s(
                                   predict(coded("vit-base-16", strategy, 2, 1024, active)), link),
                         2);
  };

  EXPECT_DOUBLE_EQ(milliseconds("astra", 1024), 1.81);
  EXPECT_DOUBLE_EQ(milliseconds("trace-b", 1024), 1.14);
  EXPECT_DOUBLE_EQ(milliseconds("trace-b", 2), 0.12);
}

TEST(NominalBits, FirstExchangeOfTraceNbAnd2aIsRaw) {
  const double raw = 32 * 768 * 98.5;
  for (const std::string_view strategy : {"trace-nb", "trace-2a"}) {
    const Prediction prediction = predict(coded("vit-base-16", strategy, 2));

    EXPECT_EQ(prediction.nominal_bits_first_exchange, raw) << strategy;
    EXPECT_EQ(prediction.nominal_bits_per_exchange, 998) << strategy;
    EXPECT_EQ(prediction.nominal_bits_per_inference, raw + 11 * 998) << strategy;
    EXPECT_NEAR(12 * raw / prediction.nominal_bits_per_inference, 12, 0.1) << strategy;
  }
  EXPECT_EQ(predict(coded("vit-base-16", "trace-1b", 2)).nominal_bits_per_inference, 12 * 998);
}

TEST(NominalBits, PdplcHasNoMeaningForIndices) {
  for (const std::string_view strategy : {"astra", "trace-b", "trace-nb"})
    EXPECT_TRUE(std::isnan(predict(coded("gpt2", strategy, 3)).pdplc_tokens)) << strategy;
}

TEST(IndexPayload, CountsHeaderAndPaddingApart) {
  const Prediction trace = predict(coded("vit-base-16", "trace-b", 2));

  // 98 and 99 indices of 10 bits: 980 and 990 bits, to whole bytes 4 and 2 more.
  EXPECT_EQ(trace.payload_bits, (std::vector<std::int64_t>{12 * 980, 12 * 990}));
  EXPECT_EQ(trace.header_bits, (std::vector<std::int64_t>{12 * 8, 12 * 8}));
  EXPECT_EQ(trace.padding_bits, (std::vector<std::int64_t>{12 * 4, 12 * 2}));
  EXPECT_EQ(trace.wire_bytes, (std::vector<std::int64_t>{12 * 124, 12 * 125}));
  EXPECT_EQ(predict(coded("vit-base-16", "astra", 2)).wire_bytes,
            (std::vector<std::int64_t>{12 * 196, 12 * 198}));
}

TEST(IndexPayload, GroupsMultiplyTheIndices) {
  Workload workload = coded("vit-base-16", "astra", 2);
  workload.groups = 16;

  EXPECT_EQ(predict(workload).wire_bytes,
            (std::vector<std::int64_t>{12 * 196 * 16, 12 * 198 * 16}));
  EXPECT_EQ(predict(workload).nominal_bits_per_exchange, 99 * 16 * 16);
}

TEST(IndexOperations, OfAstraOverTraceBAreThoseOfTheNotes) {
  const auto ratio = [](int devices, Index active) {
    return block_flops(coded("vit-base-16", "astra", devices)) /
           block_flops(coded("vit-base-16", "trace-b", devices, 1024, active));
  };

  EXPECT_NEAR(ratio(2, 1024), 1.145, 0.0005);
  EXPECT_NEAR(ratio(3, 1024), 1.289, 0.0005);
  EXPECT_NEAR(ratio(2, 32), 1.262, 0.0005);
  EXPECT_NEAR(ratio(3, 32), 1.422, 0.0005);
}

TEST(IndexOperations, BuffersSaveWhatTheNotesSayOfViVit) {
  struct Row {
    int devices;
    double against_off, against_hidden;
  };
  for (const auto [devices, against_off, against_hidden] :
       {Row{2, 31.8, 8.5}, Row{3, 48.2, 15.7}, Row{4, 58.3, 21.8}, Row{6, 69.9, 31.8},
        Row{8, 76.5, 39.5}, Row{10, 80.7, 45.6}}) {
    const auto flops_with = [devices = devices](Buffers buffers) {
      Workload workload = coded("vivit-base-16x2", "trace-b", devices);
      workload.buffers = buffers;
      return block_flops(workload);
    };
    const double kv = flops_with(Buffers::kv);

    EXPECT_NEAR(100 * (1 - kv / flops_with(Buffers::off)), against_off, 0.05) << devices;
    EXPECT_NEAR(100 * (1 - kv / flops_with(Buffers::hidden)), against_hidden, 0.05) << devices;
  }
}

TEST(IndexOperations, OfATinyTraceDeviceAreCountedByHand) {
  const Prediction prediction = predict(tiny_coded(tiny_vit(), "trace-b"));

  // Device 0: n = k = 2, c = 5, D = 4, F = 8, two blocks, two searches among 6 codewords; one patch
  // of 12 inputs, three labels.
  const Operations expected{.matmul_macs = 48 + 2 * (32 + 64 + 80 + 32 + 64 + 64) + 2 * 48 + 12,
                            .layer_norm_elements = 2 * (8 + 8) + 8,
                            .softmax_elements = 2 * (2 * 2 * 5),
                            .gelu_elements = 2 * 16,
                            .residual_elements = 2 * (8 + 8),
                            .bias_elements = 4 + 2 * (8 + 16 + 8 + 16 + 8) + 3};
  EXPECT_EQ(prediction.device_operations[0], expected);
}

TEST(IndexOperations, AstraSearchAddsABiasToEveryScore) {
  Workload workload = tiny_coded(tiny_vit(), "astra");
  workload.groups = 2;
  const Prediction astra = predict(workload);
  const Prediction voltage = predict(make_tiny(tiny_vit(), "voltage", 2));

  // Two exchanges, two rows, two groups, six codewords of width 2.
  Operations searched = voltage.device_operations[0];
  searched.matmul_macs += 2 * (2 * 2 * 6 * 2);
  searched.bias_elements += 2 * (2 * 2 * 6);
  EXPECT_EQ(astra.device_operations[0], searched);
}

TEST(IndexOperations, WithoutBuffersAReceiverFinishesThePeersBlocks) {
  const Index remote = 3, hidden = 4, ffn = 8;  // of device 0, once: two blocks
  const Prediction hidden_buffers = predict(tiny_coded(tiny_vit(), "trace-b", Buffers::hidden));
  Operations expected = hidden_buffers.device_operations[0];
  expected.matmul_macs += 2 * remote * hidden * ffn;
  expected.layer_norm_elements += remote * hidden;
  expected.gelu_elements += remote * ffn;
  expected.bias_elements += remote * (ffn + hidden);
  expected.residual_elements += remote * hidden;

  EXPECT_EQ(predict(tiny_coded(tiny_vit(), "trace-b", Buffers::off)).device_operations[0],
            expected);
}

TEST(IndexOperations, TraceNbNormalisesThePeersAttentionOfPostNormModels) {
  model::ModelConfig model = tiny_bert();
  model.layers = 3;
  const auto norms = [&](std::string_view strategy) {
    return predict(tiny_coded(model, strategy, Buffers::off))
        .device_operations[0]
        .layer_norm_elements;
  };

  // Device 0: 4 remote rows of 4 values, in two blocks once more: 10 (N - n) D instead of 5.
  EXPECT_EQ(norms("trace-nb") - norms("trace-b"), 2 * 4 * 4);
}

TEST(IndexOperations, RawFirstExchangeIsNotSearchedButProjected) {
  const Operations b = predict(tiny_coded(tiny_vit(), "trace-b")).device_operations[0];
  const Operations a = predict(tiny_coded(tiny_vit(), "trace-2a")).device_operations[0];

  // One search of 2 rows less; K and V of 3 remote rows more.
  EXPECT_EQ(a.matmul_macs - b.matmul_macs, 3 * 4 * 8 - 2 * 6 * 4);
  EXPECT_EQ(a.layer_norm_elements - b.layer_norm_elements, 3 * 4);
}

TEST(IndexSchedule, TraceHidesFinishAndTheNextProjection) {
  const Prediction prediction = predict(tiny_coded(tiny_vit(), "trace-b"));

  ASSERT_EQ(prediction.exchanges.size(), 2U);
  // n = 2: LN1, Q and K|V behind exchange 0; LN2 and feed-forward besides behind exchange 1.
  EXPECT_EQ(prediction.exchanges[0].window[0],
            (Operations{.matmul_macs = 32 + 64, .layer_norm_elements = 8, .bias_elements = 24}));
  EXPECT_EQ(prediction.exchanges[1].window[0], (Operations{.matmul_macs = 96 + 128,
                                                           .layer_norm_elements = 16,
                                                           .gelu_elements = 16,
                                                           .residual_elements = 8,
                                                           .bias_elements = 24 + 24}));
}

TEST(IndexSchedule, OverlapMovesNoWork) {
  for (const std::string_view strategy : {"trace-b", "trace-nb", "astra", "voltage"}) {
    Workload workload = tiny_coded(tiny_vit(), strategy);
    workload.overlap = true;
    const Prediction on = predict(workload);
    workload.overlap = false;

    const Prediction off = predict(workload);

    EXPECT_EQ(on.device_operations, off.device_operations) << strategy;
    EXPECT_EQ(off.exchanges[1].window[0], Operations{}) << strategy;
    EXPECT_NE(on.exchanges[1].window[0], Operations{}) << strategy;
  }
}

TEST(IndexMemory, OfVitIsThirtySixMebibytesOfBuffers) {
  Workload workload = coded("vit-base-16", "trace-b", 2);
  EXPECT_EQ(predict(workload).memory[0].buffers, 36 * 1024 * 1024);

  workload.buffers = Buffers::hidden;
  EXPECT_EQ(predict(workload).memory[0].buffers, 18 * 1024 * 1024);
  workload.buffers = Buffers::off;
  EXPECT_EQ(predict(workload).memory[0].buffers, 0);
}

TEST(IndexMemory, CodebooksAreSearchesOfEveryLevelAndTablesWhereDequantised) {
  const std::int64_t row = 4 * 768 * 12;  // bytes of a codeword over 12 exchanges
  const std::int64_t searched = 2 + 4 + 8 + 32 + 1024;
  const auto codebooks = [](Workload workload) { return predict(workload).memory[0].codebooks; };

  EXPECT_EQ(codebooks(coded("vit-base-16", "trace-b", 2)), row * searched);
  EXPECT_EQ(codebooks(coded("vit-base-16", "trace-1b", 2)), row * (searched + 1024));
  EXPECT_EQ(codebooks(coded("vit-base-16", "trace-nb", 2)), row / 12 * 11 * (searched + 1024));
  EXPECT_EQ(codebooks(coded("vit-base-16", "astra", 2)), (2 * row + 4 * 12) * 1024);
  Workload given = coded("vit-base-16", "trace-b", 2);
  given.levels = {16, 1024};
  EXPECT_EQ(codebooks(given), row * (16 + 1024));
}

TEST(IndexMemory, OneDeviceNeedsNoCodebook) {
  for (const std::string_view strategy : {"astra", "trace-b", "trace-nb", "trace-2a", "trace-1b"}) {
    const Prediction alone = predict(coded("vit-base-16", strategy, 1, 0));

    EXPECT_EQ(alone.device_operations,
              predict(make_workload("vit-base-16", "single", 1)).device_operations);
    EXPECT_EQ(alone.memory[0].codebooks + alone.memory[0].buffers, 0);
    EXPECT_EQ(alone.calibration, Operations{});
  }
}

TEST(Calibration, RunsEveryCodewordThroughABlockAndItsProjection) {
  const auto macs = [](std::string_view strategy, Buffers buffers) {
    return predict(tiny_coded(tiny_vit(), strategy, buffers)).calibration.matmul_macs;
  };
  const Index finish = 6 * 2 * 4 * 8, project = 6 * 4 * 8;  // K = 6, D = 4, F = 8

  EXPECT_EQ(macs("trace-b", Buffers::kv), finish + 2 * project);
  EXPECT_EQ(macs("trace-b", Buffers::hidden), finish);
  EXPECT_EQ(macs("trace-2a", Buffers::kv), finish + project);
  EXPECT_EQ(macs("trace-b", Buffers::off), 0);
  EXPECT_EQ(macs("trace-nb", Buffers::kv), 0);
}

TEST(ReplicatedClassToken, IsARowOfEveryDeviceThatIsNotSent) {
  Workload workload = tiny_coded(tiny_vit(), "astra");
  workload.replicates_class_token = true;

  const Prediction prediction = predict(workload);

  // 4 patches: 2 a device, 3 local rows each. The copy of device 1 crosses the wire at the end.
  ASSERT_EQ(prediction.exchanges.size(), 3U);
  EXPECT_EQ(prediction.exchanges[0].bytes, (std::vector<std::int64_t>{4, 4}));
  EXPECT_EQ(prediction.exchanges[0].before[0].matmul_macs, 2 * 12 * 4 + 2 * 6 * 4);
  EXPECT_EQ(prediction.exchanges[2].kind, ScheduledExchange::Kind::gather);
  EXPECT_EQ(prediction.exchanges[2].bytes, (std::vector<std::int64_t>{0, 16}));
  EXPECT_EQ(prediction.tail[1].layer_norm_elements, 3 * 4);  // copies are normalised too
  EXPECT_EQ(prediction.tail[0].matmul_macs, 12);
  EXPECT_EQ(prediction.tail[1].matmul_macs, 0);
}

TEST(IndexOptions, ThatDoNotFitAreRefusedWithTheirValues) {
  EXPECT_NE(input_error_of(coded("gpt2", "trace-b", 2, 1)).find("codewords=1"), std::string::npos);
  EXPECT_NE(input_error_of(coded("gpt2", "trace-b", 2, 8, 9)).find("active-codewords=9"),
            std::string::npos);
  Workload groups = coded("gpt2", "astra", 2);
  groups.groups = 7;
  EXPECT_NE(input_error_of(groups).find("groups=7"), std::string::npos);
  Workload text = coded("bert-base", "astra", 2);
  text.replicates_class_token = true;
  EXPECT_NE(input_error_of(text).find("class-token=replicated"), std::string::npos);
}

}  // namespace
}  // namespace thinwire::cost
