// Tensor parallelism and the pipeline.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numeric>
#include <string>

#include "cost/workloads.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/cost/memory.hpp"
#include "thinwire/cost/modelled_time.hpp"

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

Operations single(std::string_view preset) {
  return predict(make_workload(preset, "single", 1)).device_operations[0];
}

TEST(TensorPrediction, DividesProductsAndRepeatsNormsAndResiduals) {
  for (const std::string_view preset : kPresets)
    for (const int devices : {2, 3, 5, 12}) {
      SCOPED_TRACE(testing::Message() << preset << " P=" << devices);
      const Operations alone = single(preset);
      const Workload workload = make_workload(preset, "tensor", devices);
      const Index rows = workload.tokens * workload.model.hidden * workload.model.layers;

      const Operations all = sum(predict(workload).device_operations);

      const Index embedding =
          workload.model.is_text()
              ? 0
              : (workload.tokens - 1) * workload.model.patch_inputs() * workload.model.hidden;
      EXPECT_EQ(all.matmul_macs, alone.matmul_macs + (devices - 1) * embedding);
      EXPECT_EQ(all.layer_norm_elements, devices * alone.layer_norm_elements);
      EXPECT_EQ(all.softmax_elements, alone.softmax_elements);
      EXPECT_EQ(all.gelu_elements, alone.gelu_elements);
      EXPECT_EQ(all.residual_elements, devices * alone.residual_elements);
      EXPECT_EQ(all.residual_elements, devices * 2 * rows);
    }
}

TEST(TensorPrediction, CountsATinyDeviceInEveryKind) {
  const Prediction prediction = predict(make_tiny(tiny_bert(), "tensor", 2));

  // N = 7, D = 4, one head of width 2, 4 of 8 columns, one block; pooler and two labels.
  EXPECT_EQ(prediction.device_operations[0],
            (Operations{.matmul_macs = 7 * 4 * 6 + 2 * 7 * 7 * 2 + 7 * 2 * 4 + 2 * 7 * 4 * 4 + 24,
                        .layer_norm_elements = 3 * 28,
                        .softmax_elements = 49,
                        .gelu_elements = 28,
                        .residual_elements = 2 * 28,
                        .bias_elements = 7 * 6 + 28 + 28 + 28 + 6}));
}

TEST(TensorPrediction, SendsARingsBytesTwiceABlock) {
  for (const int devices : {2, 3, 5}) {
    const Workload workload = make_workload("gpt2", "tensor", devices);

    const Prediction prediction = predict(workload);

    // Over all devices a ring carries every value 2 (P - 1) times, whatever the chunks.
    const std::int64_t sent = std::accumulate(prediction.wire_bytes.begin(),
                                              prediction.wire_bytes.end(), std::int64_t{0});
    EXPECT_EQ(sent, 12 * 2 * 2 * (devices - 1) * 4 * 256 * 768);
    EXPECT_EQ(std::ssize(prediction.exchanges), 12 * 2 * 2 * (devices - 1));
    EXPECT_EQ(prediction.nominal_exchanges, 24);
    EXPECT_TRUE(std::isnan(prediction.nominal_bits_per_inference));
    EXPECT_TRUE(std::isnan(prediction.compression_rate));
    EXPECT_TRUE(std::isnan(prediction.pdplc_tokens));
  }
}

TEST(TensorPrediction, RefusesMoreDevicesThanHeads) {
  const std::string message = input_error_of(make_workload("gpt2", "tensor", 13));

  EXPECT_NE(message.find("devices=13"), std::string::npos) << message;
  EXPECT_NE(message.find("12 heads"), std::string::npos) << message;
}

TEST(TensorPrediction, HoldsItsPartOfTheBlocks) {
  const Workload workload = make_workload("vit-base-16", "tensor", 2);
  const std::int64_t whole = weights_bytes(workload.model, workload.tokens);
  const Index shared =
      (embedding_parameters(workload.model, workload.tokens) + head_parameters(workload.model))
          .count() +
      12 * 6 * 768;  // norms, O's and down's bias

  for (const Memory& memory : predict(workload).memory)
    EXPECT_EQ(memory.weights, (whole - 4 * shared) / 2 + 4 * shared);
}

Workload pipeline(std::string_view preset, int stages, int inputs = 1) {
  Workload workload = make_workload(preset, "pipeline", stages);
  workload.micro_batches = inputs;
  return workload;
}

TEST(PipelinePrediction, ComputesEveryInputOnce) {
  for (const std::string_view preset : kPresets)
    for (const int stages : {1, 2, 5, 12})
      for (const int inputs : {1, 3}) {
        const Prediction prediction = predict(pipeline(preset, stages, inputs));

        Operations expected;
        for (int input = 0; input < inputs; ++input) expected += single(preset);
        EXPECT_EQ(sum(prediction.device_operations), expected);
        EXPECT_EQ(prediction.inputs, inputs);
      }
}

TEST(PipelinePrediction, EveryStageButTheLastSendsEveryInput) {
  const Prediction prediction = predict(pipeline("gpt2", 3, 4));
  const std::int64_t rows = 256 * 768 * 4;

  EXPECT_EQ(prediction.wire_bytes, (std::vector<std::int64_t>{4 * rows, 4 * rows, 0}));
  ASSERT_EQ(prediction.exchanges.size(), 5U);  // 4 + 3 - 1 steps, none behind the last
  EXPECT_EQ(prediction.exchanges[0].to, (std::vector<int>{1, -1, -1}));
  EXPECT_EQ(prediction.exchanges[1].to, (std::vector<int>{1, 2, -1}));
  EXPECT_EQ(prediction.exchanges[4].bytes, (std::vector<std::int64_t>{0, rows, 0}));
  for (std::size_t step = 0; step < 5; ++step)
    EXPECT_EQ(prediction.exchanges[step].is_first_output, step == 2);
}

TEST(PipelinePrediction, BubbleIsTheShareOfIdleSteps) {
  const fabric::Link unlimited;
  for (const int inputs : {1, 4, 9}) {
    Workload workload = make_tiny(tiny_bert(), "pipeline", 3);
    workload.model.layers = 3;
    workload.model.head = model::HeadKind::mean_pooling;  // no work of the last stage's own
    workload.micro_batches = inputs;
    const Prediction prediction = predict(workload);
    const std::vector<double> rates(3, 1e6), slowness(3, 1);

    const std::vector<DeviceTime> times =
        modelled_time(std::span(&prediction, 1), unlimited, rates, slowness);

    // The first stage embeds as well: a LayerNorm of 5 * 28 operations, a step of them.
    const double stage_s =
        static_cast<double>(flops(prediction.device_operations[2], Convention::paper)) / inputs /
        1e6;
    const double end_s = times[2].compute_s + times[2].wait_s;
    EXPECT_NEAR(end_s, (inputs + 2) * stage_s, inputs * 140e-6 + 1e-9);
    if (inputs > 1) {
      EXPECT_NEAR(times[2].milestone_s[1], 3 * stage_s, 3 * 140e-6);
    }
  }
}

TEST(PipelinePrediction, HoldsItsStageAlone) {
  const Workload workload = pipeline("bert-base", 5);  // 3, 3, 2, 2, 2 blocks
  const Prediction prediction = predict(workload);
  const Index block = block_parameters(workload.model).count();

  EXPECT_EQ(prediction.memory[0].weights,
            4 * (3 * block + embedding_parameters(workload.model, 256).count()));
  EXPECT_EQ(prediction.memory[2].weights, 4 * 2 * block);
  EXPECT_EQ(prediction.memory[4].weights,
            4 * (2 * block + head_parameters(workload.model).count()));
}

TEST(PipelinePrediction, RefusesMoreStagesThanBlocks) {
  const std::string message = input_error_of(pipeline("gpt2", 13));

  EXPECT_NE(message.find("devices=13"), std::string::npos) << message;
  EXPECT_NE(input_error_of(pipeline("gpt2", 2, 0)).find("micro-batches=0"), std::string::npos);
}

TEST(OneDevice, OfATensorOrPipelineRunIsTheSingleDevice) {
  for (const std::string_view strategy : {"tensor", "pipeline"}) {
    const Prediction alone = predict(make_workload("gpt2", strategy, 1));

    EXPECT_EQ(alone.device_operations[0], single("gpt2"));
    EXPECT_TRUE(alone.exchanges.empty());
    EXPECT_EQ(alone.nominal_exchanges, 0);
    EXPECT_EQ(alone.nominal_bits_per_inference, 0);
  }
}

}  // namespace
}  // namespace thinwire::cost
