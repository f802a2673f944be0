// Sentences of many lengths, with padding wherever it may be, in turn through one workspace: every
// strategy hides it, and exact ones give the single device's answer to each (METHODS 2, 3.1, 8).
#include <gtest/gtest.h>

#include <set>

#include "made_up_models.hpp"
#include "support/codebooks.hpp"

namespace thinwire {
namespace {

using compress::CodebookSet;
using compress::Scaling;
using strategy::StrategyOptions;
using test::PassResult;
using test::run_pass;

constexpr double kExact = 1e-4;  // fp32 in another order of sums, relative to the largest value

/// `real` tokens, then padding.
model::ModelInput padded(const model::ModelConfig& config, Index tokens, Index real,
                         std::uint64_t seed) {
  model::ModelInput input = model::random_input(config, tokens, seed);
  input.real.assign(static_cast<std::size_t>(tokens), 0);
  std::fill_n(input.real.begin(), real, std::uint8_t{1});
  return input;
}

/// Without what padding adds to it.
model::ModelInput packed(model::ModelInput input) {
  const auto real = static_cast<std::size_t>(std::ranges::count(input.real, 1));
  input.ids.resize(real);
  input.real.clear();
  return input;
}

/// Other ids where there is padding.
model::ModelInput with_other_padding(model::ModelInput input) {
  for (std::size_t t = 0; t < input.real.size(); ++t)
    if (input.real[t] == 0) input.ids[t] = static_cast<std::int32_t>(3 + t % 5);
  return input;
}

/// Lengths that come again, with and without padding, as a data set mixes them. With 8 and 12
/// tokens the last of four devices has padding alone, with 12 the last two.
std::vector<model::ModelInput> mixed_sentences(const model::ModelConfig& config) {
  std::vector<model::ModelInput> sentences{model::random_input(config, 12, 1),
                                           padded(config, 12, 4, 2),
                                           padded(config, 8, 6, 3),
                                           model::random_input(config, 8, 4),
                                           padded(config, 12, 11, 5),
                                           model::random_input(config, 12, 6),
                                           padded(config, 8, 1, 7)};
  model::ModelInput& holes = sentences.emplace_back(padded(config, 12, 12, 8));
  holes.real = {0, 0, 0, 0, 1, 0, 1, 1, 0, 1, 1, 0};  // nothing real on the first device
  return sentences;
}

/// One strategy, one object a device, for all sentences in turn.
struct Setting {
  std::string strategy;
  int devices;
  StrategyOptions options;
};

std::vector<Index> lengths_of(std::span<const model::ModelInput> inputs) {
  std::set<Index> lengths;
  for (const model::ModelInput& input : inputs) lengths.insert(std::ssize(input.ids));
  return {lengths.begin(), lengths.end()};
}

/// The answer to each, [1, labels or hidden] or [N, vocabulary].
std::vector<Matrix<float>> run_in_turn(const model::Model& model, const Setting& setting,
                                       std::span<const model::ModelInput> inputs) {
  const auto& [name, devices, options] = setting;
  std::vector<Matrix<float>> answers(inputs.size());
  if (model.config().head == model::HeadKind::language_model)
    for (std::size_t i = 0; i < inputs.size(); ++i)
      answers[i] = Matrix<float>(std::ssize(inputs[i].ids), model.config().vocabulary);
  test::on_devices(devices, [&, devices = devices](fabric::Transport& transport) {
    const auto runner = strategy::make_strategy(
        setting.strategy, model, setting.options,
        {.device = transport.rank(), .devices = devices, .lengths = lengths_of(inputs)});
    const auto fabric = fabric::make_fabric(transport, {});
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      fabric->begin_iteration();
      const strategy::Output output = runner->forward(inputs[i], *fabric);
      fabric->end_iteration();
      if (output.values.size() == 0) continue;
      if (output.rows.size == 0) answers[i] = Matrix<float>(1, output.values.cols());
      copy<float>(output.values, output.rows.size == 0
                                     ? answers[i].view()
                                     : answers[i].view().rows(output.rows.begin, output.rows.size));
    }
  });
  return answers;
}

/// Codebooks live as long as the settings that use them.
struct Settings {
  std::vector<std::unique_ptr<CodebookSet>> codebooks;
  std::vector<Setting> all;
};

/// Every strategy, on as many devices as it may have.
Settings every_strategy(const model::Model& model, int devices) {
  Settings settings;
  for (const strategy::StrategyEntry& entry : strategy::strategies()) {
    Setting setting{std::string(entry.name), entry.name == "single" ? 1 : devices, {}};
    if (entry.name == "prism") setting.options.segments = 2;
    if (entry.name == "tensor") setting.devices = std::min<int>(devices, 3);
    if (entry.name == "pipeline") setting.devices = std::min<int>(devices, 3);
    if (entry.codebooks) {
      const CodebookSet& set = *settings.codebooks.emplace_back(
          std::make_unique<CodebookSet>(test::make_random_codebooks(model, *entry.codebooks, 64)));
      setting.options.codebooks = &set;
    }
    settings.all.push_back(setting);
    if (entry.name != "prism") continue;
    for (const Scaling scaling : {Scaling::off, Scaling::duplicate}) {
      setting.options.scaling = scaling;
      settings.all.push_back(setting);
    }
  }
  return settings;
}

/// A classifier over the first token, a sentence encoder, and a language model.
class Padding : public testing::TestWithParam<const char*> {
 protected:
  static model::Model load() {
    const std::string name = GetParam();
    if (name == "six-blocks") return test::make_model(test::six_blocks());
    return test::load_model(test::kGoldenFolder / "models" / name);
  }
  bool is_causal() const { return model_.config().is_causal(); }
  /// Causal rows before the first real token see nothing, which no model can answer.
  std::vector<model::ModelInput> sentences() const {
    std::vector<model::ModelInput> all = mixed_sentences(model_.config());
    if (is_causal()) all.pop_back();
    return all;
  }
  /// Rows of an answer that say something: of a language model those of real tokens.
  static void expect_near(const Matrix<float>& ours, const Matrix<float>& theirs,
                          const model::ModelInput& input, double tolerance) {
    ASSERT_EQ(ours.rows(), theirs.rows());
    for (Index r = 0; r < ours.rows(); ++r) {
      if (ours.rows() > 1 && !input.is_real(r)) continue;
      EXPECT_LE(test::relative_difference(ours.view().rows(r, 1), theirs.view().rows(r, 1)),
                tolerance)
          << "row " << r;
    }
  }

  model::Model model_ = load();
};

TEST_P(Padding, OneWorkspaceServesAllSentencesInTurn) {
  const std::vector<model::ModelInput> inputs = sentences();
  const Settings settings = every_strategy(model_, 4);
  for (const Setting& setting : settings.all) {
    const std::vector<Matrix<float>> answers = run_in_turn(model_, setting, inputs);

    for (std::size_t i = 0; i < inputs.size(); ++i) {
      SCOPED_TRACE(testing::Message() << setting.strategy << ", sentence " << i);
      const PassResult alone =
          run_pass(model_, setting.strategy, setting.devices, setting.options, inputs[i]);
      expect_near(answers[i], alone.values, inputs[i], 1e-6);
    }
  }
}

TEST_P(Padding, WhatIsPaddedShowsNowhere) {
  const std::vector<model::ModelInput> inputs = sentences();
  std::vector<model::ModelInput> others;
  for (const model::ModelInput& input : inputs) others.push_back(with_other_padding(input));
  const Settings settings = every_strategy(model_, 4);
  for (const Setting& setting : settings.all) {
    const std::vector<Matrix<float>> a = run_in_turn(model_, setting, inputs);
    const std::vector<Matrix<float>> b = run_in_turn(model_, setting, others);

    for (std::size_t i = 0; i < inputs.size(); ++i) {
      // A classifier that reads a padded first token shows that token.
      if (!is_causal() && model_.config().head == model::HeadKind::pooler && !inputs[i].is_real(0))
        continue;
      SCOPED_TRACE(testing::Message() << setting.strategy << ", sentence " << i);
      expect_near(a[i], b[i], inputs[i], 0);
    }
  }
}

TEST_P(Padding, ExactStrategiesGiveTheSingleDevicesAnswerToEverySentence) {
  const std::vector<model::ModelInput> inputs = sentences();
  const std::vector<Matrix<float>> single = run_in_turn(model_, {"single", 1, {}}, inputs);
  std::vector<Setting> settings;
  for (const int devices : {2, 3}) {
    settings.push_back({"voltage", devices, {}});
    settings.push_back({"voltage", devices, {.overlap = true}});
    settings.push_back({"tensor", devices, {}});
    settings.push_back({"pipeline", devices, {.micro_batches = 2}});
  }
  settings.push_back({"voltage", 4, {}});
  settings.push_back({"voltage", 8, {.partition = PartitionPolicy::balanced}});

  for (const Setting& setting : settings) {
    const std::vector<Matrix<float>> answers = run_in_turn(model_, setting, inputs);

    for (std::size_t i = 0; i < inputs.size(); ++i) {
      SCOPED_TRACE(testing::Message()
                   << setting.strategy << " P=" << setting.devices << ", sentence " << i);
      expect_near(answers[i], single[i], inputs[i], kExact);
    }
  }
}

TEST_P(Padding, ASegmentATokenLosesNothing) {
  for (const model::ModelInput& input : sentences()) {
    const Index tokens = std::ssize(input.ids);
    const PassResult single = run_pass(model_, "single", 1, {}, input);

    for (const Scaling scaling : {Scaling::on, Scaling::off, Scaling::duplicate}) {
      SCOPED_TRACE(testing::Message() << "N=" << tokens << " " << compress::to_string(scaling));
      const PassResult prism =
          run_pass(model_, "prism", 4, {.segments = tokens / 4, .scaling = scaling}, input);
      expect_near(prism.values, single.values, input, kExact);
    }
  }
}

TEST_P(Padding, ACodewordForEveryRowLosesNothing) {
  const std::vector<model::ModelInput> inputs = sentences();
  for (const model::ModelInput& input : {inputs[1], inputs[2], inputs.back()}) {
    const PassResult single = run_pass(model_, "single", 1, {}, input);

    for (const char* strategy : {"astra", "trace-b", "trace-nb", "trace-2a", "trace-1b"}) {
      SCOPED_TRACE(testing::Message() << strategy << " N=" << input.ids.size());
      compress::CodebookUse use = test::codebook_use(strategy);
      use.buffers = compress::Buffers::off;
      const CodebookSet codebooks =
          test::make_lossless_codebooks(model_, strategy, 4, use, {}, input);
      const PassResult ours = run_pass(model_, strategy, 4, {.codebooks = &codebooks}, input);
      expect_near(ours.values, single.values, input, kExact);
    }
  }
}

TEST_P(Padding, WeighsAMeanByItsRealRows) {
  // Segments of three tokens, of which three, two, one and none are real.
  model::ModelInput input = padded(model_.config(), 12, 12, 9);
  input.real = {1, 1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0};
  constexpr Index kSegments = 2;

  const PassResult scaled = run_pass(model_, "prism", 2, {.segments = kSegments}, input, kSegments);
  const PassResult repeated =
      run_pass(model_, "prism", 2, {.segments = kSegments, .scaling = Scaling::duplicate}, input);

  expect_near(scaled.values, repeated.values, input, kExact);
  const MatrixView<const float> embedded = std::as_const(scaled.hidden[0]).view();
  const MatrixView<const float> means = std::as_const(scaled.published[0]).view();
  const std::vector<std::vector<Index>> real_rows{{0, 1, 2}, {3, 4}, {6}, {}};
  for (Index s = 0; s < means.rows(); ++s)
    for (Index c = 0; c < means.cols(); ++c) {
      const std::vector<Index>& rows = real_rows[static_cast<std::size_t>(s)];
      double mean = 0;
      for (const Index row : rows) mean += embedded(row, c) / static_cast<double>(rows.size());
      EXPECT_NEAR(means(s, c), mean, 1e-6) << "segment " << s << ", column " << c;
    }
}

TEST_P(Padding, APaddedSentenceIsThePackedOne) {
  for (const model::ModelInput& input : sentences()) {
    if (input.real.empty() || !std::ranges::is_sorted(input.real, std::greater{})) continue;
    const model::ModelInput without = packed(input);
    const PassResult alone = run_pass(model_, "single", 1, {}, without);
    const Index real = std::ssize(without.ids);

    for (const Setting& setting : {Setting{"single", 1, {}}, Setting{"voltage", 4, {}},
                                   Setting{"tensor", 3, {}}, Setting{"pipeline", 3, {}}}) {
      SCOPED_TRACE(testing::Message() << setting.strategy << ", " << real << " tokens");
      const PassResult ours = run_pass(model_, setting.strategy, setting.devices, {}, input);
      const bool is_language = model_.config().head == model::HeadKind::language_model;
      EXPECT_LE(test::relative_difference(
                    is_language ? ours.values.view().rows(0, real) : ours.values.view(),
                    alone.values.view()),
                kExact);
      EXPECT_LE(test::relative_difference(ours.hidden.back().view().rows(0, real),
                                          alone.hidden.back().view()),
                kExact);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Padding, testing::Values("bert-tiny", "six-blocks", "gpt2-tiny"));

TEST(PaddingErrors, ASentenceWithoutARealTokenIsRefused) {
  const model::Model model = test::load_model(test::kGoldenFolder / "models" / "bert-tiny");

  EXPECT_THROW(run_pass(model, "single", 1, {}, padded(model.config(), 8, 0, 7)), Error);
}

}  // namespace
}  // namespace thinwire
