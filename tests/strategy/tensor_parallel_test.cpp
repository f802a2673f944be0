// Tensor parallelism (METHODS 4): heads and feed-forward columns split, sums all-reduced.
#include "thinwire/strategy/tensor_parallel.hpp"

#include <gtest/gtest.h>

#include "strategy/made_up_models.hpp"
#include "support/golden.hpp"
#include "support/local_run.hpp"
#include "support/messages.hpp"

namespace thinwire {
namespace {

using strategy::StrategyOptions;
using test::PassResult;
using test::run_pass;

constexpr double kExact = 1e-4;  // fp32 in another order of sums, relative to the largest value

void expect_equal(const PassResult& a, const PassResult& b) {
  EXPECT_LE(test::relative_difference(a.values.view(), b.values.view()), kExact);
  for (std::size_t l = 0; l < a.hidden.size(); ++l)
    EXPECT_LE(test::relative_difference(a.hidden[l].view(), b.hidden[l].view()), kExact) << l;
}

bool are_bitwise_equal(const Matrix<float>& a, const Matrix<float>& b) {
  return std::ranges::equal(std::as_bytes(a.view().elements()), std::as_bytes(b.view().elements()));
}

/// Floats that a device sends in one ring all-reduce: every chunk but one, twice.
Index ring_values(Index values, int devices, int device) {
  const std::vector<Slice> chunks = partition(values, devices, PartitionPolicy::balanced);
  const auto size = [&](int chunk) {
    return chunks[static_cast<std::size_t>(chunk % devices)].size;
  };
  return 2 * values - size(device + 1) - size(device + 2);
}

class TensorParallel : public testing::TestWithParam<const char*> {
 protected:
  model::Model model_ = test::load_model(test::kGoldenFolder / "models" / GetParam());
  const model::ModelConfig& config_ = model_.config();
  model::ModelInput input_ =
      model::random_input(config_, config_.is_text() ? 23 : config_.tokens, 7);
};

TEST_P(TensorParallel, EqualsTheSingleDevice) {
  const PassResult single = run_pass(model_, "single", 1, {}, input_);

  for (const int devices : {1, 2, 3}) {
    SCOPED_TRACE(devices);
    expect_equal(run_pass(model_, "tensor", devices, {}, input_), single);
  }
}

TEST_P(TensorParallel, SendsWhatTheRingsSend) {
  const Index values = input_.tokens(config_) * config_.hidden;
  for (const int devices : {1, 2, 3}) {
    const PassResult pass = run_pass(model_, "tensor", devices, {}, input_);
    for (int p = 0; p < devices; ++p) {
      const fabric::Traffic& traffic = pass.iterations[static_cast<std::size_t>(p)].traffic;
      const Index sent = devices > 1 ? 2 * config_.layers * ring_values(values, devices, p) : 0;
      EXPECT_EQ(traffic.wire_bytes, 4 * sent) << "device " << p << " of " << devices;
      EXPECT_EQ(traffic.payload_bits, 32 * sent);
    }
  }
}

TEST_P(TensorParallel, CountsNormsOnEveryDeviceAndProductsOnce) {
  const Operations single = run_pass(model_, "single", 1, {}, input_).iterations[0].operations;
  const PassResult pass = run_pass(model_, "tensor", 3, {}, input_);
  Operations embedding;
  Matrix<float> x(input_.tokens(config_), config_.hidden);
  Matrix<float> patches(x.rows(), config_.patch_inputs());
  model_.embedding()(input_, {0, x.rows()}, x.view(), patches.view(), embedding);

  Operations sum;
  for (const fabric::DeviceIteration& device : pass.iterations) {
    EXPECT_EQ(device.operations.layer_norm_elements, single.layer_norm_elements);
    sum += device.operations;
  }
  EXPECT_EQ(sum.matmul_macs, single.matmul_macs + 2 * embedding.matmul_macs);
  EXPECT_EQ(sum.softmax_elements, single.softmax_elements);
  EXPECT_EQ(sum.gelu_elements, single.gelu_elements);
  EXPECT_EQ(sum.residual_elements, 3 * single.residual_elements);
}

/// Which device reports which rows depends on the partition and nothing else does.
TEST_P(TensorParallel, AllDevicesHoldBitwiseTheSameRows) {
  const PassResult first = run_pass(model_, "tensor", 3, {}, input_);
  for (const std::vector<double>& weights :
       {std::vector<double>{8, 1, 1}, std::vector<double>{1, 8, 1}, std::vector<double>{1, 1, 8}}) {
    const PassResult other = run_pass(
        model_, "tensor", 3, {.partition = PartitionPolicy::weighted, .weights = weights}, input_);

    for (std::size_t l = 0; l < first.hidden.size(); ++l)
      EXPECT_TRUE(are_bitwise_equal(first.hidden[l], other.hidden[l])) << l;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, TensorParallel,
                         testing::Values("vit-tiny", "bert-tiny", "gpt2-tiny", "vivit-tiny"));

TEST(TensorParallelShares, UnevenHeadsAndColumnsEqualTheSingleDevice) {
  const model::Model model = test::make_model(test::four_heads());
  const model::ModelInput input = model::random_input(model.config(), 13, 7);
  const PassResult single = run_pass(model, "single", 1, {}, input);

  for (const int devices : {2, 3, 4}) {
    SCOPED_TRACE(devices);
    expect_equal(run_pass(model, "tensor", devices, {}, input), single);
  }
}

TEST(TensorParallelShares, PaddingIsInvisible) {
  const model::Model classifier = test::load_model(test::kGoldenFolder / "models" / "bert-tiny");
  const model::Model embedder = test::make_model(test::six_blocks());
  for (const model::Model* model : {&classifier, &embedder}) {
    SCOPED_TRACE(model->config().name);
    model::ModelInput input = model::random_input(model->config(), 11, 7);
    input.real = {1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0};  // nothing real on the last device's rows
    const PassResult single = run_pass(*model, "single", 1, {}, input);
    const PassResult ours = run_pass(*model, "tensor", 3, {}, input);
    std::ranges::fill(input.ids.begin() + 4, input.ids.end(), 5);
    const PassResult other = run_pass(*model, "tensor", 3, {}, input);

    expect_equal(ours, single);
    EXPECT_TRUE(are_bitwise_equal(ours.values, other.values));
  }
}

TEST(TensorParallelShares, ALaterTokenLeavesEarlierLogitsAlone) {
  const model::Model model = test::make_model(test::four_heads());
  model::ModelInput input = model::random_input(model.config(), 13, 7);
  const PassResult before = run_pass(model, "tensor", 3, {}, input);
  input.ids[8] = (input.ids[8] + 1) % 31;
  const PassResult after = run_pass(model, "tensor", 3, {}, input);

  for (Index token = 0; token < 8; ++token)
    EXPECT_TRUE(std::ranges::equal(before.values.view().row(token), after.values.view().row(token)))
        << token;
  EXPECT_FALSE(std::ranges::equal(before.values.view().row(8), after.values.view().row(8)));
}

TEST(TensorParallelShares, AWorkspaceForLongSequencesServesShortOnes) {
  const model::Model model = test::make_model(test::four_heads());
  const model::ModelInput input = model::random_input(model.config(), 7, 7);
  const PassResult alone = run_pass(model, "tensor", 3, {}, input);

  test::on_devices(3, [&](fabric::Transport& transport) {
    const auto runner = strategy::make_strategy(
        "tensor", model, {}, {.device = transport.rank(), .devices = 3, .lengths = {13, 7}});
    const auto fabric = fabric::make_fabric(transport, {});
    fabric->begin_iteration();
    runner->forward(model::random_input(model.config(), 13, 8), *fabric);
    const auto [values, rows] = runner->forward(input, *fabric);

    EXPECT_GT(rows.size, 0);
    EXPECT_LE(test::relative_difference(values, alone.values.view().rows(rows.begin, rows.size)),
              1e-6);
    EXPECT_THROW(runner->forward(model::random_input(model.config(), 9, 7), *fabric), Error);
  });
}

TEST(TensorParallelErrors, MoreDevicesThanHeadsAreRefused) {
  const model::Model model = test::make_model(test::four_heads());
  const strategy::DeviceRole role{.device = 0, .devices = 5, .lengths = {13}};

  const std::string message =
      test::input_error([&] { strategy::make_strategy("tensor", model, {}, role); });

  EXPECT_TRUE(test::mentions(message, {"strategy=tensor", "devices=5", "heads=4"}));
}

}  // namespace
}  // namespace thinwire
