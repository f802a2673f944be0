// A batch answers, sends and counts what its sequences do one by one.
#include <gtest/gtest.h>

#include "made_up_models.hpp"
#include "support/codebooks.hpp"

namespace thinwire {
namespace {

using strategy::ClassToken;
using strategy::Io;
using strategy::StrategyOptions;
using test::Collector;
using test::PassResult;

struct Way {
  const char* strategy;
  int devices;
  StrategyOptions options = {};
};

/// What one device has of a sequence.
struct Answer {
  Matrix<float> values;
  Slice rows;
};

struct Outcome {
  std::vector<std::vector<Answer>> answers;         ///< [rank][sequence]
  std::vector<PassResult> looks;                    ///< [sequence]
  std::vector<fabric::DeviceIteration> iterations;  ///< [rank], of all sequences together
};

Answer keep(const strategy::Output& output) {
  Answer answer{Matrix<float>(output.values.rows(), output.values.cols()), output.rows};
  copy<float>(output.values, answer.values.view());
  return answer;
}

PassResult make_look(const model::ModelConfig& config, Index tokens, int devices) {
  PassResult look;
  const auto layers = static_cast<std::size_t>(config.layers);
  for (Index l = 0; l <= config.layers; ++l) look.hidden.emplace_back(tokens, config.hidden);
  look.published.resize(layers);
  look.payloads.resize(layers);
  look.quantised.resize(layers);
  for (auto& parts : look.payloads) parts.resize(static_cast<std::size_t>(devices));
  for (auto& parts : look.quantised) parts.resize(static_cast<std::size_t>(devices));
  return look;
}

bool same(MatrixView<const float> a, MatrixView<const float> b) {
  return std::ranges::equal(a.elements(), b.elements());
}

class Batch {
 public:
  Batch(const model::Model& model, std::vector<model::ModelInput> inputs)
      : model_(model), inputs_(std::move(inputs)) {}

  /// batch: most sequences at once; 0: forward() for each.
  Outcome run(const Way& way, std::size_t batch) const {
    const int ranks = way.devices + (way.options.io == Io::terminal ? 1 : 0);
    Outcome outcome;
    outcome.answers.resize(std::size_t(ranks));
    outcome.iterations.resize(std::size_t(ranks));
    for (const model::ModelInput& input : inputs_)
      outcome.looks.push_back(
          make_look(model_.config(), input.tokens(model_.config()), way.devices));
    for (std::vector<Answer>& answers : outcome.answers) answers.resize(inputs_.size());
    const auto of_all = fabric::make_local_transports(ranks);
    const auto of_devices = fabric::make_local_transports(way.devices);
    test::on_devices(ranks, [&](fabric::Transport& rank) {
      const auto r = std::size_t(rank.rank());
      fabric::Transport* const devices = rank.rank() < way.devices ? of_devices[r].get() : nullptr;
      try {
        run_rank(way, batch, *of_all[r], devices, outcome);
      } catch (...) {
        of_all[r]->abandon();
        if (devices != nullptr) devices->abandon();
        throw;
      }
    });
    return outcome;
  }

  void expect_as_one_by_one(const Way& way) const {
    constexpr std::size_t kBatch = 3;  // of five: a full batch, and what is left
    SCOPED_TRACE(testing::Message() << way.strategy << " devices=" << way.devices);
    const Outcome alone = run(way, 0);
    const Outcome together = run(way, kBatch);

    expect_same_answers(together, alone);
    expect_same_looks(together, alone);
    expect_same_counts(together, alone);
  }

 private:
  void run_rank(const Way& way, std::size_t batch, fabric::Transport& all,
                fabric::Transport* devices, Outcome& outcome) const {
    const auto r = std::size_t(all.rank());
    const auto fabric = way.options.io == Io::terminal
                            ? fabric::make_fabric_with_terminal(all, devices, {})
                            : fabric::make_fabric(*devices, {});
    std::vector<Index> lengths;
    for (const auto& input : inputs_) lengths.push_back(input.tokens(model_.config()));
    const auto runner = strategy::make_strategy(way.strategy, model_, way.options,
                                                {.device = all.rank(),
                                                 .devices = way.devices,
                                                 .lengths = lengths,
                                                 .batch = std::max(1, static_cast<int>(batch))});
    std::vector<Collector> collectors;
    for (PassResult& look : outcome.looks) collectors.emplace_back(look, all.rank(), way.devices);
    fabric->begin_iteration();
    for (std::size_t i = 0; i < inputs_.size(); i += std::max<std::size_t>(batch, 1)) {
      if (batch == 0) {
        outcome.answers[r][i] = keep(runner->forward(inputs_[i], *fabric, &collectors[i]));
        continue;
      }
      std::vector<strategy::BatchItem> items;
      for (std::size_t k = i; k < std::min(i + batch, inputs_.size()); ++k)
        items.push_back({&inputs_[k], &collectors[k]});
      runner->forward_batch(items, *fabric, [&](std::size_t item, const strategy::Output& output) {
        outcome.answers[r][i + item] = keep(output);
      });
    }
    outcome.iterations[r] = fabric->end_iteration();
  }

  void expect_same_answers(const Outcome& together, const Outcome& alone) const {
    for (std::size_t rank = 0; rank < alone.answers.size(); ++rank)
      for (std::size_t i = 0; i < inputs_.size(); ++i) {
        const Answer &ours = together.answers[rank][i], &theirs = alone.answers[rank][i];
        EXPECT_TRUE(same(ours.values.view(), theirs.values.view()))
            << "sequence " << i << " on rank " << rank;
        EXPECT_EQ(ours.rows, theirs.rows) << "sequence " << i << " on rank " << rank;
      }
  }

  void expect_same_looks(const Outcome& together, const Outcome& alone) const {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const PassResult &ours = together.looks[i], &theirs = alone.looks[i];
      for (std::size_t l = 0; l < ours.hidden.size(); ++l)
        EXPECT_TRUE(same(ours.hidden[l].view(), theirs.hidden[l].view()))
            << "hidden state " << l << " of sequence " << i;
      EXPECT_EQ(ours.payloads, theirs.payloads) << "sequence " << i;
      for (std::size_t e = 0; e < ours.quantised.size(); ++e)
        for (std::size_t p = 0; p < ours.quantised[e].size(); ++p)
          EXPECT_EQ(ours.quantised[e][p].indices, theirs.quantised[e][p].indices)
              << "exchange " << e << ", device " << p << ", sequence " << i;
    }
  }

  static void expect_same_counts(const Outcome& together, const Outcome& alone) {
    for (std::size_t rank = 0; rank < alone.iterations.size(); ++rank) {
      const fabric::DeviceIteration &ours = together.iterations[rank],
                                    &theirs = alone.iterations[rank];
      EXPECT_EQ(ours.operations, theirs.operations) << rank;
      EXPECT_EQ(ours.link_bits, theirs.link_bits) << rank;
      EXPECT_EQ(ours.traffic.exchanges, theirs.traffic.exchanges) << rank;
      EXPECT_EQ(ours.traffic.payload_bits, theirs.traffic.payload_bits) << rank;
      EXPECT_EQ(ours.traffic.header_bits, theirs.traffic.header_bits) << rank;
      EXPECT_EQ(ours.traffic.padding_bits, theirs.traffic.padding_bits) << rank;
      EXPECT_EQ(ours.traffic.wire_bytes, theirs.traffic.wire_bytes) << rank;
    }
  }

  const model::Model& model_;
  std::vector<model::ModelInput> inputs_;
};

/// Pictures, or sequences of several lengths (BERT: some of them padded).
std::vector<model::ModelInput> mixed_inputs(const model::ModelConfig& config, Index longest) {
  std::vector<model::ModelInput> inputs;
  const bool is_text = config.is_text();
  for (const Index shorter : {0, 4, 1, 0, 3}) {
    const Index tokens = is_text ? longest - shorter : config.tokens;
    inputs.push_back(model::random_input(config, tokens, 7 + inputs.size()));
  }
  if (config.family == model::Family::bert)
    for (const std::size_t padded : {1U, 3U}) {
      inputs[padded].real.assign(inputs[padded].ids.size(), 1);
      std::fill(inputs[padded].real.begin() + 5, inputs[padded].real.end(), 0);
    }
  return inputs;
}

void expect_batches_of_every_strategy(const model::Model& model, Index longest) {
  const Batch batch(model, mixed_inputs(model.config(), longest));
  batch.expect_as_one_by_one({"single", 1});
  for (const int devices : {2, 3}) {
    for (const char* strategy : {"voltage", "prism", "tensor", "pipeline"})
      batch.expect_as_one_by_one({strategy, devices, {.segments = 2}});
    for (const bool overlap : {false, true})
      for (const char* strategy : {"astra", "trace-b", "trace-nb", "trace-2a", "trace-1b"}) {
        const auto codebooks = test::make_random_codebooks(model, test::codebook_use(strategy), 8);
        batch.expect_as_one_by_one(
            {strategy, devices, {.overlap = overlap, .codebooks = &codebooks}});
      }
  }
}

class Batches : public testing::TestWithParam<const char*> {
 protected:
  model::Model model_ = test::load_model(test::kGoldenFolder / "models" / GetParam());
};

TEST_P(Batches, OfEveryStrategyAnswerAsOneByOne) {
  expect_batches_of_every_strategy(model_, 23);
}

TEST_P(Batches, OfAnUnevenPartitionAnswerAsOneByOne) {
  const Batch batch(model_, mixed_inputs(model_.config(), 23));

  batch.expect_as_one_by_one(
      {"voltage", 3, {.partition = PartitionPolicy::weighted, .weights = {1, 3, 2}}});
}

TEST_P(Batches, OfReducedPayloadsAnswerAsOneByOne) {
  const Batch batch(model_, mixed_inputs(model_.config(), 23));

  for (const compress::RowFormat payload : {compress::RowFormat::bf16, compress::RowFormat::int8})
    for (const char* strategy : {"voltage", "prism"})
      batch.expect_as_one_by_one({strategy, 3, {.segments = 2, .payload = payload}});
}

TEST_P(Batches, WithATerminalAnswerAsOneByOne) {
  const Batch batch(model_, mixed_inputs(model_.config(), 23));

  batch.expect_as_one_by_one({"prism", 2, {.segments = 2, .io = Io::terminal}});
}

INSTANTIATE_TEST_SUITE_P(Models, Batches,
                         testing::Values("vit-tiny", "bert-tiny", "gpt2-tiny", "vivit-tiny"));

TEST(MeanPoolingBatches, AnswerAsOneByOne) {
  expect_batches_of_every_strategy(test::make_model(test::six_blocks()), 11);
}

TEST(ClassTokenBatches, OfAReplicatedTokenAnswerAsOneByOne) {
  for (const char* name : {"vit-tiny", "vivit-tiny"}) {
    const model::Model model = test::load_model(test::kGoldenFolder / "models" / name);
    const auto codebooks = test::make_random_codebooks(model, test::codebook_use("astra"), 8);
    const Batch batch(model, mixed_inputs(model.config(), 0));

    batch.expect_as_one_by_one(
        {"astra", 3, {.codebooks = &codebooks, .class_token = ClassToken::replicated}});
  }
}

TEST(Batches, LargerThanAnnouncedAreRefused) {
  const model::Model model = test::make_model(test::six_blocks());
  const model::ModelInput input = model::random_input(model.config(), 11, 7);
  const auto runner = strategy::make_strategy("single", model, {}, {.lengths = {11}, .batch = 2});
  const auto transport = fabric::make_solo_transport();
  const auto fabric = fabric::make_fabric(*transport, {});
  const std::vector<strategy::BatchItem> three(3, {&input});

  EXPECT_THROW(runner->forward_batch(three, *fabric, [](auto, const auto&) {}), Error);
}

TEST(Batches, NeedNoMoreWorkspaceUntilTheyAreAnnounced) {
  const model::Model model = test::make_model(test::six_blocks());
  const auto held_bytes = [&model](int batch) {
    TrackingResource memory;
    const auto runner = strategy::make_strategy(
        "single", model, {}, {.lengths = {11}, .memory = &memory, .batch = batch});
    return memory.held_bytes();
  };

  EXPECT_GT(held_bytes(2), held_bytes(1));
}

}  // namespace
}  // namespace thinwire
