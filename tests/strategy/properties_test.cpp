// What must hold for any input (METHODS 8), on the tiny golden models.
#include <gtest/gtest.h>

#include "support/golden.hpp"
#include "support/local_run.hpp"

namespace thinwire {
namespace {

using compress::RowFormat;
using compress::Scaling;
using strategy::StrategyOptions;
using test::PassResult;
using test::run_pass;

constexpr double kExact = 1e-4;  // fp32 in another order of sums, relative to the largest logit

struct Case {
  const char* model;
  Index tokens;  // text models: a length that 1, 2, 3, 4 and 6 divide; others have their own
};
constexpr Case kCases[] = {
    {"vit-tiny", 17}, {"bert-tiny", 24}, {"gpt2-tiny", 24}, {"vivit-tiny", 9}};

class Strategies : public testing::TestWithParam<Case> {
 protected:
  model::Model model_ = test::load_model(test::kGoldenFolder / "models" / GetParam().model);
  model::ModelInput input_ = model::random_input(model_.config(), GetParam().tokens, 7);

  void expect_equal(const PassResult& a, const PassResult& b) const {
    EXPECT_LE(test::relative_difference(a.values.view(), b.values.view()), kExact);
    EXPECT_LE(test::relative_difference(a.hidden.back().view(), b.hidden.back().view()), kExact);
  }
};

TEST_P(Strategies, VoltageEqualsTheSingleDeviceForAnyPartition) {
  const PassResult single = run_pass(model_, "single", 1, {}, input_);

  for (const int devices : {1, 2, 3, 4, 6}) {
    SCOPED_TRACE(devices);
    expect_equal(run_pass(model_, "voltage", devices, {}, input_), single);
  }
  StrategyOptions uneven{.partition = PartitionPolicy::weighted, .weights = {1, 5, 2}};
  expect_equal(run_pass(model_, "voltage", 3, uneven, input_), single);
  expect_equal(run_pass(model_, "voltage", 4, {.partition = PartitionPolicy::balanced}, input_),
               single);
}

TEST_P(Strategies, OneDeviceIsTheSingleDevice) {
  const PassResult single = run_pass(model_, "single", 1, {}, input_);

  expect_equal(run_pass(model_, "prism", 1, {.segments = 1}, input_), single);
}

TEST_P(Strategies, PrismEqualsItsDuplicateForm) {
  for (const int devices : {2, 3, 4})
    for (const Index segments : {1, 2}) {
      SCOPED_TRACE(testing::Message() << "devices=" << devices << " segments=" << segments);
      expect_equal(run_pass(model_, "prism", devices, {.segments = segments}, input_),
                   run_pass(model_, "prism", devices,
                            {.segments = segments, .scaling = Scaling::duplicate}, input_));
    }
}

TEST_P(Strategies, ScalingChangesTheResult) {
  const PassResult on = run_pass(model_, "prism", 2, {.segments = 1}, input_);
  const PassResult off =
      run_pass(model_, "prism", 2, {.segments = 1, .scaling = Scaling::off}, input_);

  EXPECT_GT(test::relative_difference(off.hidden.back().view(), on.hidden.back().view()), 1e-3);
}

TEST_P(Strategies, ASegmentPerTokenLosesNothing) {
  const PassResult single = run_pass(model_, "single", 1, {}, input_);
  for (const int devices : {2, 3, 4, 6}) {
    if (GetParam().tokens % devices != 0) continue;
    SCOPED_TRACE(devices);

    expect_equal(
        run_pass(model_, "prism", devices, {.segments = GetParam().tokens / devices}, input_),
        single);
  }
}

TEST_P(Strategies, WorkUpToTenDevices) {
  if (GetParam().tokens < 10) GTEST_SKIP() << "fewer tokens than ten";
  const PassResult single = run_pass(model_, "single", 1, {}, input_);

  expect_equal(run_pass(model_, "voltage", 10, {}, input_), single);
  const PassResult prism = run_pass(model_, "prism", 10, {.segments = 1}, input_);
  EXPECT_LT(test::relative_difference(prism.hidden.back().view(), single.hidden.back().view()), 1);
}

INSTANTIATE_TEST_SUITE_P(Models, Strategies, testing::ValuesIn(kCases));

TEST(Causality, ALaterTokenLeavesEarlierLogitsAlone) {
  const model::Model model = test::load_model(test::kGoldenFolder / "models" / "gpt2-tiny");
  const model::ModelInput input = model::random_input(model.config(), 23, 7);
  constexpr Index kChanged = 14;
  model::ModelInput changed = input;
  changed.ids[kChanged] = (changed.ids[kChanged] + 1) % 96;

  for (const auto& [name, options] :
       {std::pair{"voltage", StrategyOptions{}},
        {"prism", StrategyOptions{.segments = 2}},
        {"prism", StrategyOptions{.segments = 2, .scaling = Scaling::duplicate}},
        {"voltage", StrategyOptions{.payload = RowFormat::int8}},
        {"prism", StrategyOptions{.segments = 2, .payload = RowFormat::int8}}}) {
    SCOPED_TRACE(name);
    const PassResult before = run_pass(model, name, 3, options, input);
    const PassResult after = run_pass(model, name, 3, options, changed);

    for (Index token = 0; token < kChanged; ++token)
      EXPECT_TRUE(
          std::ranges::equal(before.values.view().row(token), after.values.view().row(token)))
          << "token " << token;
    EXPECT_GT(test::relative_difference(after.values.view().rows(kChanged, 1),
                                        before.values.view().rows(kChanged, 1)),
              1e-3);
  }
}

TEST(Padding, PaddedTokensChangeNothingForRealOnes) {
  const model::Model model = test::load_model(test::kGoldenFolder / "models" / "bert-tiny");
  model::ModelInput input = model::random_input(model.config(), 24, 7);
  input.real.assign(24, 1);
  std::fill(input.real.begin() + 10, input.real.end(), 0);  // devices 2 and 3 of 4 see padding only
  model::ModelInput other = input;
  for (std::size_t t = 10; t < 24; ++t) other.ids[t] = static_cast<std::int32_t>(t);

  for (const auto& [name, options] :
       {std::pair{"voltage", StrategyOptions{}},
        {"prism", StrategyOptions{.segments = 2}},
        {"voltage", StrategyOptions{.payload = RowFormat::int8}},
        {"prism", StrategyOptions{.segments = 2, .payload = RowFormat::int8}}}) {
    SCOPED_TRACE(name);
    const PassResult a = run_pass(model, name, 4, options, input);
    const PassResult b = run_pass(model, name, 4, options, other);

    EXPECT_TRUE(std::ranges::equal(a.values.view().row(0), b.values.view().row(0)));
  }
}

TEST(Lengths, AWorkspaceForLongSequencesServesShortOnes) {
  const model::Model model = test::load_model(test::kGoldenFolder / "models" / "gpt2-tiny");
  const model::ModelInput input = model::random_input(model.config(), 13, 7);
  for (const auto& [name, options] :
       {std::pair{"voltage", StrategyOptions{}},
        {"prism", StrategyOptions{.compression_rate = 2}},
        {"prism", StrategyOptions{.compression_rate = 2, .scaling = Scaling::duplicate}},
        {"voltage", StrategyOptions{.payload = RowFormat::fp16}}}) {
    SCOPED_TRACE(name);
    const PassResult alone = run_pass(model, name, 3, options, input);

    test::on_devices(3, [&, name = name, &options = options](fabric::Transport& transport) {
      const auto runner = strategy::make_strategy(
          name, model, options, {.device = transport.rank(), .devices = 3, .lengths = {29, 13}});
      const auto fabric = fabric::make_fabric(transport, {});
      fabric->begin_iteration();
      runner->forward(model::random_input(model.config(), 29, 8), *fabric);
      const strategy::Output output = runner->forward(input, *fabric);

      const Slice rows = output.rows;
      EXPECT_LE(
          test::relative_difference(output.values, alone.values.view().rows(rows.begin, rows.size)),
          1e-6);
    });
  }
}

TEST(Errors, ALengthThatWasNotAnnouncedIsRefused) {
  const model::Model model = test::load_model(test::kGoldenFolder / "models" / "bert-tiny");
  const auto runner = strategy::make_strategy("single", model, {}, {.lengths = {12}});
  const auto transport = fabric::make_solo_transport();
  const auto fabric = fabric::make_fabric(*transport, {});

  EXPECT_THROW(runner->forward(model::random_input(model.config(), 11, 7), *fabric), Error);
}

TEST(Errors, UnknownStrategiesComeWithASuggestion) {
  const model::Model model = test::load_model(test::kGoldenFolder / "models" / "bert-tiny");
  try {
    strategy::make_strategy("prysm", model, {}, {.lengths = {12}});
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean prism?"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace thinwire
