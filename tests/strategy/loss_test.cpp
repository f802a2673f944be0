// The strategies on a link that drops packets: nothing of a lost packet is used, and what is done
// without it is what the policy says.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "predicted.hpp"
#include "support/single_pass.hpp"

namespace thinwire {
namespace {

using compress::Buffers;
using compress::CodebookSet;
using fabric::Link;
using fabric::OnLoss;
using strategy::StrategyOptions;
using test::PassResult;
using test::run_pass;

constexpr const char* kStrategies[] = {"voltage",  "prism",    "astra",   "trace-b",
                                       "trace-nb", "trace-2a", "trace-1b"};
constexpr OnLoss kPolicies[] = {OnLoss::skip, OnLoss::reuse};
constexpr double kOften = 0.2;
constexpr double kNearlyNothing = 1e-15, kNearlyAll = 1 - 1e-12;

/// Packets of 24 bytes, so that the rows of tiny models have several.
fabric::FabricOptions dropping(double probability, OnLoss policy) {
  return {.links = {Link{.overhead = {.header_bytes = 1, .payload_bytes = 24},
                         .loss = {.probability = probability, .policy = policy, .seed = 3}}}};
}

bool is_finite(MatrixView<const float> values) {
  return std::ranges::all_of(values.elements(), [](float v) { return std::isfinite(v); });
}

bool is_equal(const PassResult& a, const PassResult& b) {
  return std::ranges::equal(a.values.view().elements(), b.values.view().elements()) &&
         std::ranges::equal(a.hidden.back().view().elements(), b.hidden.back().view().elements());
}

/// Rows of a device that knows of no other, after all blocks.
Matrix<float> alone(const model::Model& model, const model::ModelInput& input, Slice rows) {
  const model::ModelConfig& config = model.config();
  auto* memory = std::pmr::new_delete_resource();
  ops::KvContext context(rows.size, config.hidden, memory);
  ops::Attention attention(config.heads, config.head_dim(),
                           config.is_causal() ? ops::Mask::causal : ops::Mask::none, rows.size,
                           rows.size, 1, memory);
  std::vector<float> log_counts(static_cast<std::size_t>(rows.size), 0.0F);
  std::vector<std::int32_t> positions(log_counts.size());
  std::iota(positions.begin(), positions.end(), static_cast<std::int32_t>(rows.begin));
  Matrix<float> x = test::embed(model, input, rows);
  Matrix<float> scratch(rows.size, config.hidden), query(rows.size, config.hidden),
      ffn(rows.size, config.ffn);
  Operations counted;
  for (Index layer = 0; layer < config.layers; ++layer) {
    const model::Block& block = model.block(layer);
    const auto in = block.kv_input(x.view(), scratch.view(), counted);
    block.project_query(in, query.view(), counted);
    context.clear();
    block.project_kv(in, context.append(log_counts, positions), counted);
    attention(query.view(), context, positions, scratch.view(), counted);
    block.attention_residual(scratch.view(), x.view(), counted);
    block.finish(x.view(), scratch.view(), ffn.view(), counted);
  }
  return x;
}

class Lossy : public testing::TestWithParam<const char*> {
 protected:
  PassResult run(const char* strategy, OnLoss policy, double probability) {
    return run(strategy, policy, probability, input_);
  }
  PassResult run(const char* strategy, OnLoss policy, double probability,
                 const model::ModelInput& input, Buffers buffers = Buffers::kv) {
    constexpr int kDevices = 3;
    const fabric::FabricOptions link =
        probability > 0 ? dropping(probability, policy) : fabric::FabricOptions{};
    StrategyOptions options{.on_loss = policy};
    const std::string_view name = strategy;
    if (name == "prism") options.segments = 2;
    if (name == "voltage" || name == "prism")
      return run_pass(model_, strategy, kDevices, options, input, 0, link);
    compress::CodebookUse use = test::codebook_use(strategy);
    if (use.buffers != Buffers::off) use.buffers = buffers;
    const CodebookSet codebooks = test::make_random_codebooks(model_, use, 5);
    options.codebooks = &codebooks;
    return run_pass(model_, strategy, kDevices, options, input, 0, link);
  }

  model::Model model_ = test::load_model(test::kGoldenFolder / "models" / GetParam());
  model::ModelInput input_ = model::random_input(
      model_.config(), model_.config().is_text() ? 23 : model_.config().tokens, 7);
};

TEST_P(Lossy, ThatLosesNothingChangesNothing) {
  for (const char* strategy : kStrategies)
    for (const OnLoss policy : kPolicies) {
      SCOPED_TRACE(std::string(strategy) + " " + std::string(to_string(policy)));
      const PassResult whole = run(strategy, policy, 0);
      const PassResult lossy = run(strategy, policy, kNearlyNothing);

      EXPECT_TRUE(is_equal(whole, lossy));
      EXPECT_GT(lossy.iterations[0].losses.packets, 0);
      EXPECT_EQ(lossy.iterations[0].losses.lost_packets, 0);
      EXPECT_EQ(lossy.iterations[0].losses.lost_rows, 0);
    }
}

TEST_P(Lossy, ThatLosesAllLeavesEveryDeviceAlone) {
  constexpr double kRounding = 1e-5;
  const Index tokens = input_.tokens(model_.config());
  const std::vector<Slice> slices = partition(tokens, 3, PartitionPolicy::paper, {});
  for (const char* strategy : kStrategies)
    for (const OnLoss policy : kPolicies) {
      SCOPED_TRACE(std::string(strategy) + " " + std::string(to_string(policy)));
      const PassResult lossy = run(strategy, policy, kNearlyAll);

      for (const Slice& slice : slices)
        EXPECT_LE(
            test::relative_difference(lossy.hidden.back().view().rows(slice.begin, slice.size),
                                      alone(model_, input_, slice).view()),
            kRounding);
      for (const fabric::DeviceIteration& device : lossy.iterations) {
        EXPECT_EQ(device.losses.lost_packets, device.losses.packets);
        EXPECT_EQ(device.losses.lost_rows, device.losses.rows);
      }
    }
}

TEST_P(Lossy, ReadsNothingOfWhatWasLost) {
  for (const char* strategy : kStrategies) {
    PassResult of_policy[2];
    for (const OnLoss policy : kPolicies) {
      SCOPED_TRACE(std::string(strategy) + " " + std::string(to_string(policy)));
      const PassResult whole = run(strategy, policy, 0);
      PassResult& lossy = of_policy[policy == OnLoss::skip ? 0 : 1];
      lossy = run(strategy, policy, kOften);

      EXPECT_TRUE(is_finite(lossy.values.view()));
      for (const Matrix<float>& hidden : lossy.hidden) EXPECT_TRUE(is_finite(hidden.view()));
      EXPECT_FALSE(is_equal(whole, lossy));
      EXPECT_TRUE(is_equal(lossy, run(strategy, policy, kOften)));
      for (std::size_t p = 0; p < lossy.iterations.size(); ++p) {
        const fabric::DeviceIteration& device = lossy.iterations[p];
        EXPECT_EQ(device.operations, whole.iterations[p].operations);
        EXPECT_EQ(device.traffic.payload_bits, whole.iterations[p].traffic.payload_bits);
        EXPECT_GT(device.losses.lost_rows, 0);
        EXPECT_LT(device.losses.lost_packets, device.losses.packets);
      }
    }
    EXPECT_FALSE(is_equal(of_policy[0], of_policy[1])) << strategy;
  }
}

/// A device of whose peers nothing real arrives, and that has nothing but padding itself, still has
/// something to look at.
TEST_P(Lossy, PaddingIsNotLookedAtWhereThereIsAnythingElse) {
  if (model_.config().family != model::Family::bert) GTEST_SKIP() << "no padding";
  model::ModelInput input = input_;
  input.real.assign(input.ids.size(), 0);
  std::fill_n(input.real.begin(), 9, std::uint8_t{1});
  for (const char* strategy : kStrategies) {
    SCOPED_TRACE(strategy);
    const PassResult whole = run(strategy, OnLoss::skip, 0, input);

    EXPECT_TRUE(is_equal(whole, run(strategy, OnLoss::skip, kNearlyNothing, input)));
    EXPECT_TRUE(is_finite(run(strategy, OnLoss::skip, kNearlyAll, input).hidden.back().view()));
  }
}

/// What a receiver keeps for the next exchange, and what it notes of this one.
TEST_P(Lossy, HoldsWhatIsPredicted) {
  const Index tokens = input_.tokens(model_.config());
  for (const char* strategy : kStrategies)
    for (const OnLoss policy : kPolicies)
      for (const double probability : {0.0, kOften}) {
        SCOPED_TRACE(testing::Message() << strategy << " " << to_string(policy) << probability);
        const bool drops = probability > 0;
        test::Setting setting{strategy, 3, {.on_loss = drops ? policy : OnLoss::retransmit}};
        if (setting.strategy == std::string_view("prism")) setting.options.segments = 2;
        if (setting.strategy == std::string_view("trace-b")) setting.options.level = 1;
        const auto codebooks = test::codebooks_for(model_, setting);
        setting.options.codebooks = codebooks ? &*codebooks : nullptr;
        cost::Workload workload =
            test::workload_of(model_, setting, tokens, setting.options.codebooks);
        workload.on_loss = setting.options.on_loss;

        const PassResult pass =
            run_pass(model_, strategy, 3, setting.options, input_, 0,
                     drops ? dropping(probability, policy) : fabric::FabricOptions{});

        const cost::Prediction predicted = cost::predict(workload);
        for (std::size_t p = 0; p < pass.iterations.size(); ++p)
          EXPECT_EQ(pass.workspace_bytes[p], predicted.memory[p].activations) << "device " << p;
      }
}

TEST_P(Lossy, ReadsNothingOfCodedRowsEither) {
  for (const OnLoss policy : kPolicies) {
    const PassResult lossy =
        run_pass(model_, "voltage", 3, {.payload = compress::RowFormat::int8, .on_loss = policy},
                 input_, 0, dropping(kOften, policy));

    EXPECT_TRUE(is_finite(lossy.hidden.back().view()));
    EXPECT_GT(lossy.iterations[0].losses.lost_rows, 0);
  }
}

/// What a buffer holds of a codeword is no part of which codeword stands in.
TEST_P(Lossy, TheSameStandsInWithBuffersAndWithout) {
  constexpr double kHalfPrecision = 2e-3;
  for (const char* strategy : {"trace-b", "trace-2a"})
    for (const OnLoss policy : kPolicies) {
      const PassResult off = run(strategy, policy, kOften, input_, Buffers::off);
      for (const Buffers buffers : {Buffers::kv, Buffers::hidden}) {
        SCOPED_TRACE(testing::Message() << strategy << " " << to_string(policy) << " "
                                        << compress::to_string(buffers));
        const PassResult on = run(strategy, policy, kOften, input_, buffers);

        for (std::size_t p = 0; p < on.iterations.size(); ++p)
          EXPECT_EQ(on.iterations[p].losses, off.iterations[p].losses);
        for (Index e = 0; e < model_.config().layers; ++e)
          EXPECT_EQ(on.quantised_indices(e), off.quantised_indices(e)) << "exchange " << e;
        EXPECT_LE(test::relative_difference(on.hidden.back().view(), off.hidden.back().view()),
                  kHalfPrecision);
        EXPECT_GT(test::relative_difference(on.hidden.back().view(),
                                            run(strategy, policy, 0).hidden.back().view()),
                  kHalfPrecision);
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Models, Lossy, testing::Values("vit-tiny", "bert-tiny", "gpt2-tiny"));

/// Voltage on two devices, row by row: which of the peer's rows are seen, and which are old.
class ByHand {
 public:
  ByHand(const model::Model& model, const model::ModelInput& input, const Link& link)
      : model_(model),
        link_(link),
        slices_(partition(input.tokens(model.config()), 2, PartitionPolicy::paper, {})) {
    for (const Slice& slice : slices_) x_.push_back(test::embed(model, input, slice));
  }

  std::vector<Matrix<float>> run() {
    const model::ModelConfig& config = model_.config();
    std::vector<Matrix<float>> known(2);  // [receiver] of the peer's rows
    std::vector<std::vector<bool>> is_known(2);
    for (std::size_t p : {0U, 1U}) {
      known[p] = Matrix<float>(slices_[1 - p].size, config.hidden);
      is_known[p].resize(static_cast<std::size_t>(slices_[1 - p].size));
    }
    for (Index layer = 0; layer < config.layers; ++layer) {
      std::vector<Matrix<float>> next;
      for (std::size_t p : {0U, 1U}) {
        const fabric::MessageLosses losses(link_.loss, {0, static_cast<std::uint64_t>(layer)},
                                           static_cast<int>(1 - p), static_cast<int>(p));
        std::vector<bool> is_seen(is_known[p].size());
        for (std::size_t row = 0; row < is_seen.size(); ++row) {
          const bool is_lost = lost(losses, static_cast<Index>(row));
          if (!is_lost) {
            std::ranges::copy(x_[1 - p].view().row(static_cast<Index>(row)),
                              known[p].view().row(static_cast<Index>(row)).begin());
            is_known[p][row] = true;
          }
          is_seen[row] = !is_lost || (link_.loss.policy == OnLoss::reuse && is_known[p][row]);
        }
        next.push_back(block(layer, p, known[p], is_seen));
      }
      x_ = std::move(next);
    }
    return std::move(x_);
  }

 private:
  bool lost(const fabric::MessageLosses& losses, Index row) const {
    const Index bytes = 4 * model_.config().hidden, packet = link_.packet_bytes();
    for (Index i = row * bytes / packet; i * packet < (row + 1) * bytes; ++i)
      if (losses.is_lost(i)) return true;
    return false;
  }

  Matrix<float> block(Index layer, std::size_t p, const Matrix<float>& peer,
                      const std::vector<bool>& is_seen) const {
    const model::ModelConfig& config = model_.config();
    const model::Block& block = model_.block(layer);
    auto* memory = std::pmr::new_delete_resource();
    const Index rows = slices_[p].size;
    Operations counted;
    Matrix<float> x = test::clone(x_[p].view()), scratch(rows, config.hidden),
                  query(rows, config.hidden), ffn(rows, config.ffn), row_scratch(1, config.hidden);
    ops::KvContext context(rows + peer.rows(), config.hidden, memory);
    const auto in = block.kv_input(x.view(), scratch.view(), counted);
    block.project_query(in, query.view(), counted);
    const std::vector<float> exact(static_cast<std::size_t>(rows), 0.0F);
    const std::vector<std::int32_t> anywhere(exact.size(), 0);
    block.project_kv(in, context.append(exact, anywhere), counted);
    for (std::size_t row = 0; row < is_seen.size(); ++row) {
      if (!is_seen[row]) continue;
      block.project_kv(
          block.kv_input(peer.view().rows(static_cast<Index>(row), 1), row_scratch.view(), counted),
          context.append(std::vector<float>{0.0F}, std::vector<std::int32_t>{0}), counted);
    }
    ops::Attention attention(config.heads, config.head_dim(), ops::Mask::none, rows,
                             context.capacity(), 1, memory);
    attention(query.view(), context, anywhere, scratch.view(), counted);
    block.attention_residual(scratch.view(), x.view(), counted);
    block.finish(x.view(), scratch.view(), ffn.view(), counted);
    return x;
  }

  const model::Model& model_;
  Link link_;
  std::vector<Slice> slices_;
  std::vector<Matrix<float>> x_;  // [device]
};

TEST(LossyVoltage, DoesWithoutOrWithOldRowsAsThePolicySays) {
  constexpr double kRounding = 1e-5;
  const model::Model model = test::load_model(test::kGoldenFolder / "models" / "vit-tiny");
  const model::ModelInput input = model::random_input(model.config(), model.config().tokens, 7);
  for (const OnLoss policy : kPolicies) {
    SCOPED_TRACE(to_string(policy));
    const fabric::FabricOptions options = dropping(0.03, policy);
    const PassResult pass = run_pass(model, "voltage", 2, {.on_loss = policy}, input, 0, options);

    const std::vector<Matrix<float>> by_hand = ByHand(model, input, options.links.front()).run();
    const Index first = by_hand[0].rows();
    EXPECT_LE(test::relative_difference(pass.hidden.back().first(first), by_hand[0].view()),
              kRounding);
    EXPECT_LE(test::relative_difference(pass.hidden.back().view().rows(first, by_hand[1].rows()),
                                        by_hand[1].view()),
              kRounding);
  }
}

}  // namespace
}  // namespace thinwire
