// All devices of a replica as threads: the answers of single runs, whatever the samples' lengths.
#include "thinwire/harness/eval_replica.hpp"

#include <gtest/gtest.h>

#include <map>

#include "support/codebooks.hpp"
#include "support/messages.hpp"
#include "thinwire/fabric/transport.hpp"
#include "thinwire/harness/check_spec.hpp"

namespace thinwire::harness {
namespace {

/// A sentence of `length` tokens; filled up with padding to `width` if that is more.
eval::Sample sentence(Index length, Index width, const model::ModelConfig& config) {
  eval::Sample sample;
  model::ModelInput& input = sample.sequences.emplace_back(
      model::random_input(config, length, static_cast<std::uint64_t>(length)));
  if (width <= length) return sample;
  input.ids.resize(static_cast<std::size_t>(width));
  input.real.assign(static_cast<std::size_t>(width), 0);
  std::fill_n(input.real.begin(), length, std::uint8_t{1});
  return sample;
}

struct Answers {
  std::vector<Matrix<float>> values;  ///< one a sample
  std::vector<DeviceCounts> counts;   ///< [P] over all samples
};

class EvalReplica : public testing::Test {
 protected:
  /// One sequence a sample.
  Answers evaluate(const RunSpec& spec, std::span<const eval::Sample> samples,
                   const compress::CodebookSet* codebooks = nullptr) {
    std::vector<Index> numbers, lengths;
    for (const eval::Sample& sample : samples) {
      numbers.push_back(std::ssize(numbers));
      const Index tokens = sample.sequences.front().tokens(model_.config());
      if (std::ranges::find(lengths, tokens) == lengths.end()) lengths.push_back(tokens);
    }
    Answers answers;
    answers.counts.resize(static_cast<std::size_t>(spec.devices));
    fabric::Watchdog watchdog(Seconds{}, {});
    const auto on_counts = [&](std::span<const DeviceCounts> counts, bool) {
      for (std::size_t p = 0; p < counts.size(); ++p) answers.counts[p] += counts[p];
    };
    const auto on_sample = [&](const EvaluatedSample& evaluated) {
      Matrix<float>& kept = answers.values.emplace_back(evaluated.outputs[0].values.rows(),
                                                        evaluated.outputs[0].values.cols());
      copy<float>(evaluated.outputs[0].values.view(), kept.view());
    };
    run_replica({model_, codebooks}, spec, make_formations(spec, lengths),
                {.samples = numbers,
                 .batch = batch_,
                 .load = [&](Index i) { return samples[static_cast<std::size_t>(i)]; },
                 .wants_hidden = [](Index) { return false; },
                 .is_alone = [](Index i) { return i == 1; },
                 .on_sample = on_sample,
                 .on_counts = on_counts},
                watchdog);
    return answers;
  }

  /// Every sentence by itself, by a strategy that was made for its length alone.
  void expect_answers_of_single_runs(const RunSpec& spec,
                                     const compress::CodebookSet* codebooks = nullptr) {
    SCOPED_TRACE(spec.strategy);
    std::vector<eval::Sample> samples;
    for (const Index length : {12, 31, 7, 12, 64, 24})
      samples.push_back(sentence(length, 0, model_.config()));

    const Answers together = evaluate(spec, samples, codebooks);

    for (std::size_t i = 0; i < samples.size(); ++i) {
      const model::ModelInput& input = samples[i].sequences.front();
      const RunSpec own = make_formations(spec, std::vector{input.tokens(model_.config())})[0].spec;
      const test::PassResult alone = test::run_pass(model_, spec.strategy, own.devices,
                                                    strategy_options(own, codebooks), input);
      EXPECT_LE(test::relative_difference(together.values[i].view(), alone.values.view()), 1e-6)
          << input.ids.size() << " tokens";
    }
  }

  int batch_ = 3;  // not a divisor of the samples
  model::Model model_ = test::load_model(test::kGoldenFolder / "models" / "bert-tiny");
};

RunSpec spec_of(const std::string& strategy, int devices) {
  return {.strategy = strategy, .devices = devices};
}

TEST_F(EvalReplica, ManyLengthsGiveTheAnswersOfSingleRuns) {
  for (const int devices : {2, 3}) {
    for (const char* strategy : {"voltage", "tensor", "pipeline"})
      expect_answers_of_single_runs(spec_of(strategy, devices));
    RunSpec prism = spec_of("prism", devices);
    prism.compression_rate = 2;
    expect_answers_of_single_runs(prism);
    prism.compression_rate.reset();
    prism.segments = 4;  // more than the parts of 7 tokens have rows
    expect_answers_of_single_runs(prism);
    for (const char* strategy : {"astra", "trace-b", "trace-nb"}) {
      const compress::CodebookSet codebooks =
          test::make_random_codebooks(model_, test::codebook_use(strategy), 8);
      expect_answers_of_single_runs(spec_of(strategy, devices), &codebooks);
    }
  }
}

TEST_F(EvalReplica, SentencesShorterThanTheDevicesRunOnFewer) {
  const std::vector<eval::Sample> samples = {sentence(4, 0, model_.config()),
                                             sentence(20, 0, model_.config()),
                                             sentence(1, 0, model_.config())};

  const Answers single = evaluate(spec_of("single", 1), samples);
  const Answers split = evaluate(spec_of("voltage", 6), samples);

  for (std::size_t i = 0; i < samples.size(); ++i)
    EXPECT_LE(test::relative_difference(split.values[i].view(), single.values[i].view()), 1e-4);
}

TEST_F(EvalReplica, PaddedAndPackedSentencesGiveTheSameAnswers) {
  std::vector<eval::Sample> packed, padded;
  for (const Index length : {9, 40, 17, 6, 33}) {
    packed.push_back(sentence(length, 0, model_.config()));
    padded.push_back(sentence(length, 48, model_.config()));  // device 2 of 3 has padding alone
  }
  const Answers reference = evaluate(spec_of("single", 1), packed);
  for (const RunSpec& spec : {spec_of("single", 1), spec_of("voltage", 2), spec_of("voltage", 3),
                              spec_of("tensor", 3), spec_of("pipeline", 3)}) {
    SCOPED_TRACE(spec.strategy);
    for (const auto* samples : {&packed, &padded}) {
      const Answers answers = evaluate(spec, *samples);
      for (std::size_t i = 0; i < packed.size(); ++i)
        EXPECT_LE(test::relative_difference(answers.values[i].view(), reference.values[i].view()),
                  1e-4);
    }
  }
}

TEST_F(EvalReplica, CountsAreThoseOfTheFormula) {
  std::vector<eval::Sample> samples;
  for (const Index length : {5, 23, 5, 11, 2})
    samples.push_back(sentence(length, 0, model_.config()));
  RunSpec spec = spec_of("prism", 4);
  spec.segments = 3;

  const Answers answers = evaluate(spec, samples);

  std::vector<DeviceCounts> expected(4);
  for (const eval::Sample& sample : samples) {
    const Index tokens = sample.sequences.front().tokens(model_.config());
    const RunSpec own = make_formations(spec, std::vector{tokens})[0].spec;
    const cost::Prediction one = cost::predict(to_workload(own, model_.config(), tokens));
    for (std::size_t p = 0; p < one.device_operations.size(); ++p)
      expected[p] += {one.device_operations[p], one.payload_bits[p], one.header_bits[p],
                      one.padding_bits[p], one.wire_bytes[p]};
  }
  EXPECT_EQ(answers.counts, expected);
}

TEST_F(EvalReplica, TellsWhatTheFirstDeviceThatFailedSaid) {
  const RunSpec spec = spec_of("voltage", 3);
  fabric::Watchdog watchdog(Seconds{}, {});
  const std::vector<Index> numbers = {0, 1}, lengths = {8};

  const std::string message = test::input_error([&] {
    run_replica({model_, nullptr}, spec, make_formations(spec, lengths),
                {.samples = numbers,
                 .load =
                     [&](Index i) {
                       require_input(i == 0, "sample 1 is broken");
                       return sentence(8, 0, model_.config());
                     },
                 .wants_hidden = [](Index) { return false; },
                 .is_alone = [](Index) { return true; },
                 .on_sample = [](const EvaluatedSample&) {},
                 .on_counts = [](std::span<const DeviceCounts>, bool) {}},
                watchdog);
  });

  EXPECT_EQ(message, "sample 1 is broken");
}

/// Notes which sequences somebody looks into, and answers nothing.
class WatchedStrategy final : public strategy::Strategy {
 public:
  strategy::Output forward(const model::ModelInput&, fabric::Fabric&,
                           strategy::Observer*) override {
    return {};
  }
  void forward_batch(std::span<const strategy::BatchItem> batch, fabric::Fabric&,
                     const strategy::OutputReader&) override {
    for (const strategy::BatchItem& item : batch) is_observed.push_back(item.observer != nullptr);
  }

  std::vector<bool> is_observed;
};

TEST_F(EvalReplica, LooksIntoPassesOfWhichMoreThanTheAnswerIsWanted) {
  const eval::Sample sample = sentence(8, 0, model_.config());
  FrameCounter frames({});
  WatchedStrategy strategy;

  fabric::Watchdog watchdog(Seconds{}, {});
  const auto alone = fabric::make_solo_transport();
  const auto fabric = fabric::make_fabric(*alone, {.watchdog = &watchdog});

  const auto pass = [&](bool hidden, bool bits, FrameCounter* counter) {
    std::vector<SequenceOutputs> room = make_room(sample, model_.config(), hidden, bits);
    const SequenceTask task{&sample.sequences.front(), &room.front()};
    run_tasks(strategy, *fabric, std::span(&task, 1), counter);
  };
  pass(false, false, nullptr);
  pass(true, false, nullptr);
  pass(false, true, nullptr);
  pass(false, false, &frames);

  EXPECT_EQ(strategy.is_observed, (std::vector{false, true, true, true}));
}

TEST(EvalFormations, KeepTheSpecWhereItFits) {
  RunSpec spec = spec_of("prism", 4);
  spec.segments = 3;

  const std::vector<Formation> formations =
      make_formations(spec, std::vector<Index>{12, 3, 40, 9, 8, 13});

  ASSERT_EQ(formations.size(), 3U);
  EXPECT_EQ(formations[0].lengths, (std::vector<Index>{12, 13, 40}));
  EXPECT_EQ(formations[0].spec.devices, 4);
  EXPECT_EQ(formations[0].spec.segments, 3);
  EXPECT_EQ(formations[1].lengths, (std::vector<Index>{8, 9}));  // parts of two rows
  EXPECT_EQ(formations[1].spec.segments, 2);
  EXPECT_EQ(formation_of(formations, 3).spec.devices, 3);  // a row each
  EXPECT_EQ(formation_of(formations, 3).spec.segments, 1);
}

TEST(EvalFormations, LeaveStrategiesAloneThatDoNotSplitTokens) {
  for (const char* strategy : {"tensor", "pipeline"}) {
    const std::vector<Formation> formations =
        make_formations(spec_of(strategy, 3), std::vector<Index>{1, 2, 50});
    ASSERT_EQ(formations.size(), 1U);
    EXPECT_EQ(formations[0].spec.devices, 3);
  }
}

TEST(EvalFormations, CountTokensBesideAReplicatedClassToken) {
  RunSpec spec = spec_of("astra", 4);
  spec.class_token = strategy::ClassToken::replicated;

  EXPECT_EQ(make_formations(spec, std::vector<Index>{4})[0].spec.devices, 3);
}

TEST(EvalFormations, ShortenValuesOfEveryDevice) {
  RunSpec spec = spec_of("voltage", 3);
  spec.partition = PartitionPolicy::weighted;
  spec.slowness = {1, 2, 3};

  const RunSpec fewer = make_formations(spec, std::vector<Index>{2})[0].spec;

  EXPECT_EQ(fewer.devices, 2);
  EXPECT_EQ(fewer.partition_weights().size(), 2U);
}

}  // namespace
}  // namespace thinwire::harness
