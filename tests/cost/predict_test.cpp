#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>

#include "cost/workloads.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/cost/workload.hpp"

namespace thinwire::cost {
namespace {

using test::input_error_of;
using test::make_tiny;
using test::make_workload;
using test::sum;
using test::tiny_bert;
using test::tiny_vit;

constexpr std::array<std::string_view, 4> kPresets = {"vit-base-16", "bert-base", "gpt2",
                                                      "vivit-base-16x2"};

Workload mean_pooling(std::string_view strategy, int devices, Index segments = 0) {
  Workload workload = make_workload("bert-base", strategy, devices, segments);
  workload.model.head = model::HeadKind::mean_pooling;
  workload.model.labels = 0;
  return workload;
}

/// Every combination of model, strategy, devices and policy that the tests below go through.
std::vector<Workload> many_workloads() {
  std::vector<Workload> workloads;
  for (const std::string_view preset : kPresets)
    for (int devices = 1; devices <= 10; ++devices)
      for (const PartitionPolicy policy : {PartitionPolicy::paper, PartitionPolicy::balanced})
        for (const Index segments : {0, 1, 7}) {
          workloads.push_back(
              make_workload(preset, segments == 0 ? "voltage" : "prism", devices, segments));
          workloads.back().partition = policy;
        }
  for (int devices = 1; devices <= 10; ++devices)
    workloads.push_back(mean_pooling("voltage", devices));
  workloads.push_back(make_workload("gpt2", "prism", 3, 5));
  workloads.back().partition = PartitionPolicy::weighted;
  workloads.back().weights = {1, 2.5, 4};
  workloads.push_back(make_workload("vit-base-16", "prism", 6, 5));
  workloads.back().scaling = compress::Scaling::duplicate;
  return workloads;
}

testing::Message trace(const Workload& workload) {
  return testing::Message() << workload.model.name << " " << workload.strategy
                            << " P=" << workload.devices << " L=" << workload.segments << " "
                            << to_string(workload.partition);
}

TEST(Predict, CountsATinyPreNormDeviceInEveryKind) {
  const Prediction prediction = predict(make_tiny(tiny_vit(), "voltage", 2));

  // Device 0: n = 2 of N = 5, D = 4, F = 8, two blocks; one patch of 12 inputs, three labels.
  // A block: Q, K and V, attention, O, up, down.
  const Operations expected{.matmul_macs = 12 * 4 + 2 * (32 + 160 + 80 + 32 + 64 + 64) + 12,
                            .layer_norm_elements = 2 * (5 * 4 + 2 * 4) + 2 * 4,
                            .softmax_elements = 2 * (2 * 2 * 5),
                            .gelu_elements = 2 * (2 * 8),
                            .residual_elements = 2 * (2 * 4 + 2 * 4),
                            .bias_elements = 4 + 2 * (8 + 40 + 8 + 16 + 8) + 3};
  EXPECT_EQ(prediction.device_operations[0], expected);
}

TEST(Predict, CountsATinyPostNormDeviceInEveryKind) {
  const Prediction prediction = predict(make_tiny(tiny_bert(), "prism", 2, 2));

  // Device 1: n = 4 of N = 7, k = c = 6, D = 4, F = 8, one block, no head.
  const Operations second{.matmul_macs = 64 + 192 + 192 + 64 + 128 + 128,
                          .layer_norm_elements = 4 * 4 + 2 * (4 * 4),
                          .softmax_elements = 2 * 4 * 6,
                          .gelu_elements = 4 * 8,
                          .residual_elements = 2 * (4 * 4),
                          .bias_elements = 16 + 48 + 16 + 32 + 16};
  EXPECT_EQ(prediction.device_operations[1], second);
  // Device 0: n = 3, k = c = 5, pooler and two labels.
  const Operations first{.matmul_macs = 48 + 160 + 120 + 48 + 96 + 96 + (16 + 8),
                         .layer_norm_elements = 3 * 4 + 2 * (3 * 4),
                         .softmax_elements = 2 * 3 * 5,
                         .gelu_elements = 3 * 8,
                         .residual_elements = 2 * (3 * 4),
                         .bias_elements = 12 + 40 + 12 + 24 + 12 + (4 + 2)};
  EXPECT_EQ(prediction.device_operations[0], first);
}

TEST(Predict, TinyScheduleSplitsAtThePublications) {
  const Prediction prediction = predict(make_tiny(tiny_vit(), "voltage", 2));

  ASSERT_EQ(prediction.exchanges.size(), 2U);  // one before every block
  const ScheduledExchange& input = prediction.exchanges[0];
  EXPECT_EQ(input.kind, ScheduledExchange::Kind::all_gather);
  EXPECT_EQ(input.bytes, (std::vector<std::int64_t>{2 * 4 * 4, 3 * 4 * 4}));
  EXPECT_EQ(input.before[0], (Operations{.matmul_macs = 48, .bias_elements = 4}));    // 1 patch
  EXPECT_EQ(input.before[1], (Operations{.matmul_macs = 144, .bias_elements = 12}));  // 3 patches
  EXPECT_EQ(prediction.exchanges[1].before[0].matmul_macs, 432);                      // block 0
  EXPECT_EQ(prediction.tail[0].matmul_macs, 432 + 12);  // block 1 and the classifier
  EXPECT_EQ(prediction.tail[0].layer_norm_elements, 28 + 8);
}

TEST(Predict, ScheduleHoldsAllOfADevicesOperations) {
  for (const Workload& workload : many_workloads()) {
    SCOPED_TRACE(trace(workload));
    const Prediction prediction = predict(workload);

    std::vector<Operations> scheduled = prediction.tail;
    for (const ScheduledExchange& exchange : prediction.exchanges)
      for (std::size_t p = 0; p < scheduled.size(); ++p) {
        EXPECT_EQ(exchange.window[p], Operations{});  // these strategies wait at once
        scheduled[p] += exchange.before[p];
      }

    EXPECT_EQ(scheduled, prediction.device_operations);
    EXPECT_EQ(std::ssize(scheduled), workload.devices);
  }
}

TEST(Predict, OneDeviceOfAnyStrategyIsTheSingleDevice) {
  for (const std::string_view preset : kPresets) {
    const Prediction single = predict(make_workload(preset, "single", 1));
    for (const Workload& alone :
         {make_workload(preset, "voltage", 1), make_workload(preset, "prism", 1, 10)}) {
      SCOPED_TRACE(trace(alone));

      const Prediction prediction = predict(alone);

      EXPECT_EQ(prediction.device_operations, single.device_operations);
      EXPECT_EQ(prediction.tail, single.device_operations);
      EXPECT_TRUE(prediction.exchanges.empty());
      EXPECT_EQ(prediction.payload_bits, std::vector<std::int64_t>{0});
      EXPECT_EQ(prediction.memory[0].activations, single.memory[0].activations);
      EXPECT_EQ(prediction.nominal_exchanges, 0);
      EXPECT_EQ(prediction.nominal_bits_per_inference, 0);
      EXPECT_EQ(prediction.pdplc_tokens, 0);
      EXPECT_TRUE(std::isnan(prediction.compression_rate));
    }
  }
}

TEST(Predict, RowWiseWorkIsSharedWithoutLossOrRepetition) {
  // Whatever the division: GELU runs once a row and block, residuals twice, and so on.
  for (const Workload& workload : many_workloads()) {
    SCOPED_TRACE(trace(workload));
    Workload alone = workload;
    alone.strategy = "single";
    alone.devices = 1;
    alone.partition = PartitionPolicy::paper;
    alone.weights.clear();
    const Operations single = predict(alone).device_operations[0];

    const Operations shared = sum(predict(workload).device_operations);

    EXPECT_EQ(shared.gelu_elements, single.gelu_elements);
    EXPECT_EQ(shared.residual_elements, single.residual_elements);
    EXPECT_GE(shared.bias_elements, single.bias_elements);
  }
}

TEST(Predict, VoltageAddsTheProjectionOfRemoteRowsAndNothingElse) {
  for (const std::string_view preset : kPresets)
    for (int devices = 2; devices <= 10; ++devices) {
      const Workload workload = make_workload(preset, "voltage", devices);
      SCOPED_TRACE(trace(workload));
      const Index hidden = workload.model.hidden, layers = workload.model.layers;
      const Index repeated = (devices - 1) * workload.tokens * layers;  // rows, all blocks
      Operations expected = predict(make_workload(preset, "single", 1)).device_operations[0];
      expected.matmul_macs += repeated * 2 * hidden * hidden;
      expected.bias_elements += repeated * 2 * hidden;
      if (workload.model.norm_order() == model::NormOrder::pre)
        expected.layer_norm_elements += repeated * hidden;

      EXPECT_EQ(sum(predict(workload).device_operations), expected);
    }
}

TEST(Predict, PrismColumnsAreLocalRowsAndThePeersMeans) {
  for (int devices = 2; devices <= 10; ++devices) {
    const Workload workload = make_workload("vit-base-16", "prism", devices, 4);
    SCOPED_TRACE(trace(workload));
    const Prediction prediction = predict(workload);
    const std::vector<Slice> slices = partition(197, devices, PartitionPolicy::paper);

    for (int p = 0; p < devices; ++p) {
      const Index n = slices[static_cast<std::size_t>(p)].size;
      EXPECT_EQ(prediction.device_operations[static_cast<std::size_t>(p)].softmax_elements,
                12 * 12 * n * (n + (devices - 1) * 4));
    }
  }
}

TEST(Predict, ScalingOffCostsWhatScalingOnDoes) {
  Workload workload = make_workload("bert-base", "prism", 3, 9);
  const Prediction on = predict(workload);
  workload.scaling = compress::Scaling::off;

  const Prediction off = predict(workload);

  EXPECT_EQ(off.device_operations, on.device_operations);
  EXPECT_EQ(off.payload_bits, on.payload_bits);
}

TEST(Predict, DuplicatingSendsMeansAndComputesLikeVoltage) {
  for (const std::string_view preset : kPresets) {
    Workload workload = make_workload(preset, "prism", 3, 10);
    const std::vector<std::int64_t> sent = predict(workload).payload_bits;
    workload.scaling = compress::Scaling::duplicate;

    const Prediction repeated = predict(workload);

    EXPECT_EQ(repeated.payload_bits, sent);
    EXPECT_EQ(repeated.device_operations,
              predict(make_workload(preset, "voltage", 3)).device_operations);
  }
}

TEST(Predict, VoltageSendsEveryRowOnceABlock) {
  for (const std::string_view preset : kPresets)
    for (int devices = 2; devices <= 10; ++devices) {
      const Workload workload = make_workload(preset, "voltage", devices);
      SCOPED_TRACE(trace(workload));

      const Prediction prediction = predict(workload);

      std::int64_t bits = 0;
      for (std::size_t p = 0; p < prediction.payload_bits.size(); ++p) {
        bits += prediction.payload_bits[p];
        EXPECT_EQ(prediction.payload_bits[p], 8 * prediction.wire_bytes[p]);
        EXPECT_EQ(prediction.header_bits[p] + prediction.padding_bits[p], 0);
      }
      EXPECT_EQ(bits, 32 * workload.tokens * workload.model.hidden * workload.model.layers);
      EXPECT_EQ(std::ssize(prediction.exchanges), workload.model.layers);
    }
}

TEST(Predict, PrismSendsItsMeansOnceABlock) {
  const Prediction prediction = predict(make_workload("gpt2", "prism", 3, 8));

  EXPECT_EQ(prediction.payload_bits, std::vector<std::int64_t>(3, 32 * 8 * 768 * 12));
  EXPECT_EQ(prediction.exchanges[5].bytes, std::vector<std::int64_t>(3, 8 * 768 * 4));
}

TEST(Predict, ReducedPayloadsChangeBitsAndNothingElseOfTheWork) {
  using compress::RowFormat;
  for (const char* strategy : {"voltage", "prism"}) {
    Workload workload = make_workload("gpt2", strategy, 3, 8);
    const Prediction fp32 = predict(workload);
    for (const auto& [payload, row_bits] : {std::pair{RowFormat::fp16, 16 * 768},
                                            {RowFormat::bf16, 16 * 768},
                                            {RowFormat::int8, 8 * 768 + 32}}) {
      SCOPED_TRACE(testing::Message() << strategy << " " << to_string(payload));
      workload.payload = payload;

      const Prediction reduced = predict(workload);

      for (std::size_t p = 0; p < 3; ++p) {
        EXPECT_EQ(reduced.payload_bits[p], fp32.payload_bits[p] / (32 * 768) * row_bits);
        EXPECT_EQ(reduced.wire_bytes[p], reduced.payload_bits[p] / 8);
        EXPECT_EQ(reduced.header_bits[p], 0);
      }
      EXPECT_EQ(reduced.device_operations, fp32.device_operations);
      EXPECT_EQ(reduced.pdplc_tokens, fp32.pdplc_tokens);
      const double rate = 32.0 * 768 / row_bits;
      EXPECT_NEAR(reduced.compression_rate, rate * fp32.compression_rate, 1e-12);
      EXPECT_NEAR(reduced.nominal_bits_per_inference, fp32.nominal_bits_per_inference / rate, 1e-6);
    }
  }
}

TEST(Predict, MeanPoolingGathersPartialSumsAfterTheLastBlock) {
  const Prediction prediction = predict(mean_pooling("prism", 3, 9));

  ASSERT_EQ(prediction.exchanges.size(), 13U);
  const ScheduledExchange& gather = prediction.exchanges.back();
  EXPECT_EQ(gather.kind, ScheduledExchange::Kind::gather);
  EXPECT_EQ(gather.bytes, (std::vector<std::int64_t>{0, 768 * 4, 768 * 4}));
  EXPECT_EQ(gather.before, prediction.exchanges[1].before);  // block 11 does what block 0 does
  EXPECT_EQ(prediction.tail, std::vector<Operations>(3));
  EXPECT_EQ(prediction.nominal_exchanges, 12);
  EXPECT_EQ(prediction.payload_bits[0], 32 * 9 * 768 * 12);
  EXPECT_EQ(prediction.payload_bits[1], 32 * 9 * 768 * 12 + 32 * 768);
}

TEST(Predict, MeanPoolingOnOneDeviceGathersNothing) {
  const Prediction prediction = predict(mean_pooling("voltage", 1));

  EXPECT_TRUE(prediction.exchanges.empty());
  EXPECT_EQ(prediction.tail, prediction.device_operations);
}

TEST(Predict, ConventionsWeighTheSameCounts) {
  const Prediction prediction = predict(make_workload("vit-base-16", "single", 1));
  const Operations& work = prediction.device_operations[0];

  EXPECT_EQ(prediction.total_flops(Convention::mac), work.matmul_macs);
  EXPECT_EQ(prediction.total_flops(Convention::paper),
            2 * work.matmul_macs + 5 * work.layer_norm_elements);
  EXPECT_EQ(prediction.total_flops(Convention::full),
            2 * work.matmul_macs + 5 * work.layer_norm_elements + 5 * work.softmax_elements +
                8 * work.gelu_elements + work.residual_elements + work.bias_elements);
}

TEST(Predict, NominalFiguresKeepFractionsOfRows) {
  const Prediction voltage = predict(make_workload("vit-base-16", "voltage", 2));
  const Prediction prism = predict(make_workload("vit-base-16", "prism", 3, 10));

  EXPECT_DOUBLE_EQ(voltage.pdplc_tokens, 98.5);
  EXPECT_DOUBLE_EQ(voltage.nominal_bits_per_exchange, 32 * 768 * 98.5);
  EXPECT_DOUBLE_EQ(voltage.nominal_bits_first_exchange, 32 * 768 * 98.5);
  EXPECT_DOUBLE_EQ(voltage.nominal_bits_per_inference, 12 * 32 * 768 * 98.5);
  EXPECT_DOUBLE_EQ(voltage.compression_rate, 1);
  EXPECT_DOUBLE_EQ(prism.pdplc_tokens, 20);
  EXPECT_DOUBLE_EQ(prism.nominal_bits_per_exchange, 32 * 768 * 10);
  EXPECT_DOUBLE_EQ(prism.compression_rate, 197.0 / 30);
}

TEST(Predict, RealisedRateDiffersFromTheRequestedOne) {
  const Prediction prediction = predict(make_workload("gpt2", "prism", 3, 8));  // requested: 10

  EXPECT_NEAR(prediction.compression_rate, 10.67, 0.005);
}

TEST(Predict, RefusesUnknownStrategiesWithASuggestion) {
  const std::string message = input_error_of(make_workload("gpt2", "prisn", 2, 5));

  EXPECT_NE(message.find("strategy=prisn"), std::string::npos) << message;
  EXPECT_NE(message.find("did you mean prism?"), std::string::npos) << message;
}

TEST(Predict, RefusesSegmentsThatAPartitionCannotFill) {
  const std::string too_many = input_error_of(make_workload("vit-base-16", "prism", 2, 99));
  const std::string none = input_error_of(make_workload("vit-base-16", "prism", 2, 0));

  EXPECT_NE(too_many.find("segments=99"), std::string::npos) << too_many;
  EXPECT_NE(too_many.find("98"), std::string::npos) << too_many;
  EXPECT_NE(none.find("segments=0"), std::string::npos) << none;
  EXPECT_EQ(input_error_of(make_workload("vit-base-16", "prism", 2, 98)), "no error");
}

TEST(Predict, RefusesMoreDevicesThanTokens) {
  Workload workload = make_workload("bert-base", "voltage", 4);
  workload.tokens = 3;

  EXPECT_THROW(predict(workload), InputError);
}

TEST(Predict, RefusesSeveralDevicesForSingle) {
  const std::string message = input_error_of(make_workload("gpt2", "single", 2));

  EXPECT_NE(message.find("devices=2"), std::string::npos) << message;
}

TEST(Predict, RefusesALengthThatIsNotThePictures) {
  Workload workload = make_workload("vit-base-16", "single", 1);
  workload.tokens = 196;

  EXPECT_NE(input_error_of(workload).find("197"), std::string::npos);
}

TEST(Predict, RefusesCountsBelowOne) {
  for (int Workload::*const field : {&Workload::devices, &Workload::threads}) {
    Workload workload = make_workload("gpt2", "voltage", 2);
    workload.*field = 0;
    EXPECT_THROW(predict(workload), InputError);
  }
  Workload workload = make_workload("gpt2", "single", 1);
  workload.tokens = 0;
  EXPECT_THROW(predict(workload), InputError);
}

}  // namespace
}  // namespace thinwire::cost
