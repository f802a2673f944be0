#include "thinwire/cost/memory.hpp"

#include <gtest/gtest.h>

#include "cost/workloads.hpp"

namespace thinwire::cost {
namespace {

using test::make_tiny;
using test::make_workload;
using test::tiny_bert;
using test::tiny_vit;

std::int64_t parameters(std::string_view preset) {
  return predict(make_workload(preset, "single", 1)).memory[0].weights / 4;
}

TEST(WeightsMemory, MatchesTheCheckpointsParameterCounts) {
  EXPECT_EQ(parameters("vit-base-16"), 86'567'656);
  EXPECT_EQ(parameters("bert-base"), 109'482'240 + 768 * 2 + 2);
  EXPECT_EQ(parameters("gpt2"), 124'439'808 + 50257 * 768);  // the packed copy of the tied table
}

TEST(WeightsMemory, CountsEveryTensorOfATinyModel) {
  // positions, class token, patches; per block Q K V O, up, down, norms; final norm, classifier
  const std::int64_t vit = 20 + 4 + (48 + 4) + 2 * (4 * 20 + 40 + 36 + 16) + 8 + 15;
  // tokens, positions, types, norm; block; pooler, classifier
  const std::int64_t bert = 80 + 40 + 8 + 8 + (4 * 20 + 40 + 36 + 16) + 20 + 10;

  EXPECT_EQ(predict(make_tiny(tiny_vit(), "single", 1)).memory[0].weights, 4 * vit);
  EXPECT_EQ(predict(make_tiny(tiny_bert(), "single", 1)).memory[0].weights, 4 * bert);
}

TEST(WeightsMemory, HalvesTheWeightsOfProductsInBf16AndNothingElse) {
  for (const model::ModelConfig& model : {tiny_vit(), tiny_bert()})
    for (const std::string_view strategy : {"voltage", "tensor", "pipeline"}) {
      Workload workload = make_tiny(model, strategy, 1);
      const Memory fp32 = predict(workload).memory[0];
      workload.dtype = DType::bf16;
      const Memory bf16 = predict(workload).memory[0];

      // patches or pooler; per block Q K V O, up, down; classifier
      const bool is_vit = !model.is_text();
      const std::int64_t products =
          is_vit ? 48 + 2 * (4 * 16 + 2 * 32) + 12 : 4 * 16 + 2 * 32 + 16 + 8;
      EXPECT_EQ(fp32.weights - bf16.weights, 2 * products) << strategy;
      EXPECT_EQ(bf16.activations, fp32.activations) << strategy;
    }
}

TEST(WeightsMemory, IsTheSameOnEveryDeviceAndWithoutBuffers) {
  const Prediction prediction = predict(make_workload("gpt2", "prism", 3, 9));

  for (const Memory& memory : prediction.memory) {
    EXPECT_EQ(memory.weights, prediction.memory[0].weights);
    EXPECT_EQ(memory.buffers, 0);
  }
}

TEST(WeightsMemory, EmbeddingModelHasNeitherPoolerNorClassifier) {
  model::ModelConfig model = tiny_bert();
  const std::int64_t with_head = weights_bytes(model, model.tokens);
  model.head = model::HeadKind::mean_pooling;

  EXPECT_EQ(with_head - weights_bytes(model, model.tokens), 4 * (20 + 10));
}

TEST(WeightsMemory, PositionTableGrowsWithLongRandomInputs) {
  const model::ModelConfig model = tiny_bert();

  EXPECT_EQ(weights_bytes(model, 12) - weights_bytes(model, 10), 4 * 2 * model.hidden);
}

TEST(ActivationsMemory, SumsTheTermsOfATinyVoltageDevice) {
  Workload workload = make_tiny(tiny_vit(), "voltage", 2);
  workload.threads = 2;

  const Prediction prediction = predict(workload);

  // Device 0: n = 2, c = 5, remote 3. x, normed, query, attended, ffn; K|V, counts, last; counts
  // and positions of local and of received rows; keys, values, counts and scores of attention's two
  // threads, columns and heads padded to 32; patches; receive buffer; logits
  const std::int64_t first = 8 + (8 + 12) + 8 + 8 + 16 + 40 + 5 + 5 + 2 * 2 + 2 * 5 +
                             2 * 32 * (2 + 5 + 1 + 2) + 2 * 12 + 20 + 3;
  // Device 1: n = 3, remote 2, no head
  const std::int64_t second = 12 + (12 + 8) + 12 + 12 + 24 + 40 + 5 + 5 + 2 * 3 + 2 * 5 +
                              2 * 32 * (2 + 5 + 1 + 3) + 3 * 12 + 20;
  EXPECT_EQ(prediction.memory[0].activations, 4 * first);
  EXPECT_EQ(prediction.memory[1].activations, 4 * second);
}

TEST(ActivationsMemory, SumsTheTermsOfATinyPrismDevice) {
  const Prediction prediction = predict(make_tiny(tiny_bert(), "prism", 2, 2));

  // Device 0: n = 3, c = 5, P * L = 4; post-norm: no room for normed remote rows. x, normed, query,
  // attended, ffn; K|V, counts, last; counts and positions of local and of received rows; keys,
  // values, counts and scores of attention; received, encoded; pooled, logits
  const std::int64_t first =
      12 + 12 + 12 + 12 + 24 + 40 + 5 + 5 + 2 * 3 + 2 * 4 + 32 * (2 + 5 + 1 + 3) + 16 + 8 + 4 + 2;
  EXPECT_EQ(prediction.memory[0].activations, 4 * first);
}

TEST(ActivationsMemory, DuplicatingAddsTheRepeatedRowsAndTheirColumns) {
  Workload workload = make_tiny(tiny_bert(), "prism", 2, 2);
  const std::int64_t scaled = predict(workload).memory[0].activations;
  workload.scaling = compress::Scaling::duplicate;

  const std::int64_t repeated = predict(workload).memory[0].activations;

  // n = 3: room for all 7 rows, described instead of 4 means; 4 remote columns instead of 2, each
  // with K|V, count, position and a row of attention's values; keys and scores are padded anyway
  EXPECT_EQ(repeated - scaled, 4 * (7 * 4 + 2 * (7 - 4) + 2 * (8 + 1 + 1 + 32)));
}

TEST(ActivationsMemory, ReducedPayloadsAreHeldBesideTheRows) {
  for (const auto& [payload, row_bytes] :
       {std::pair{compress::RowFormat::fp16, 2 * 4}, {compress::RowFormat::int8, 4 + 4}}) {
    Workload voltage = make_tiny(tiny_vit(), "voltage", 2);
    Workload prism = make_tiny(tiny_bert(), "prism", 2, 2);
    const auto grows = [&, &payload = payload](Workload& workload) {
      const std::int64_t fp32 = predict(workload).memory[0].activations;
      workload.payload = payload;
      return predict(workload).memory[0].activations - fp32;
    };

    EXPECT_EQ(grows(voltage), (2 + 5) * row_bytes);  // n = 2 sent, N = 5 received
    EXPECT_EQ(grows(prism), (2 + 4) * row_bytes);    // L = 2 sent, P L = 4 received
  }
}

TEST(ActivationsMemory, MeanPoolingCollectsSumsOnDeviceZero) {
  model::ModelConfig model = tiny_bert();
  const Prediction pooler = predict(make_tiny(model, "voltage", 3));
  model.head = model::HeadKind::mean_pooling;
  const Prediction pooled = predict(make_tiny(model, "voltage", 3));
  const auto grows = [&](std::size_t device) {
    return pooled.memory[device].activations - pooler.memory[device].activations;
  };

  EXPECT_EQ(grows(0), 4 * (4 + 3 * 4 - (4 + 2)));  // own sum, three sums; not pooled and logits
  EXPECT_EQ(grows(2), 4 * 4);                      // own sum
}

TEST(ActivationsMemory, ScoresStayWithinTheirBlockForLongSequences) {
  const std::int64_t columns = 3137;
  Workload workload = make_workload("vivit-base-16x2", "single", 1);
  const std::int64_t one_thread = predict(workload).memory[0].activations;
  workload.threads = 2;

  const std::int64_t padded = 3168, head = padded * 64 + columns * 64;
  EXPECT_EQ(predict(workload).memory[0].activations - one_thread, 4 * (head + (1 + 8) * padded));
}

TEST(ActivationsMemory, PrismNeedsLessThanVoltage) {
  for (const int devices : {2, 3, 6, 10})
    for (const std::string_view preset : {"vit-base-16", "bert-base", "gpt2", "vivit-base-16x2"}) {
      const Prediction voltage = predict(make_workload(preset, "voltage", devices));
      const Prediction prism = predict(make_workload(preset, "prism", devices, 2));
      for (std::size_t p = 0; p < prism.memory.size(); ++p)
        EXPECT_LT(prism.memory[p].activations, voltage.memory[p].activations)
            << preset << " P=" << devices << " device " << p;
    }
}

}  // namespace
}  // namespace thinwire::cost
