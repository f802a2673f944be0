// Every golden run of the strategies at hand: logits, hidden states and what is published.
#include <gtest/gtest.h>

#include <fstream>

#include "support/golden.hpp"
#include "support/local_run.hpp"
#include "thinwire/base/json.hpp"

namespace thinwire {
namespace {

using strategy::StrategyOptions;

StrategyOptions options_of(const Json& run) {
  StrategyOptions options;
  options.segments = run.value("segments", 0);
  options.compression_rate = run.value("compression_rate", 0.0);
  if (!run.value("scaling", true)) options.scaling = compress::Scaling::off;
  return options;
}

void expect_run_matches(const model::Model& model, const SafetensorsFile& golden, const Json& run) {
  const std::string name = run["name"];
  SCOPED_TRACE(name);
  const double tolerance = run["tolerance"];
  const int devices = run["devices"];
  const model::ModelInput input = test::golden_input(golden, run["input"]);
  const bool has_means = golden.has(name + ".means.0");
  const Index rows = has_means ? golden.at(name + ".means.0").shape[0] / devices : 0;

  const test::PassResult ours = test::run_pass(model, run["strategy"].get<std::string>(), devices,
                                               options_of(run), input, rows);

  const Matrix<float> logits = test::golden_matrix(golden, name + ".logits");
  EXPECT_LE(test::relative_difference(ours.values.view(), logits.view()), tolerance);
  for (Index l = 0; l <= model.config().layers; ++l) {
    const std::string key = name + ".hidden." + std::to_string(l);
    if (!golden.has(key)) continue;
    const Matrix<float> hidden = test::golden_matrix(golden, key);
    Index real = 0;  // padding is on the right; its rows need not match
    while (real < hidden.rows() && input.is_real(real)) ++real;
    EXPECT_LE(test::relative_difference(ours.hidden[static_cast<std::size_t>(l)].first(real),
                                        hidden.first(real)),
              tolerance)
        << key;
  }
  for (Index e = 0; has_means && e < model.config().layers; ++e) {
    const Matrix<float> means = test::golden_matrix(golden, name + ".means." + std::to_string(e));
    EXPECT_LE(
        test::relative_difference(ours.published[static_cast<std::size_t>(e)].view(), means.view()),
        tolerance)
        << "means " << e;
  }
}

class Golden : public testing::TestWithParam<const char*> {};

TEST_P(Golden, RunsOfKnownStrategiesMatch) {
  const std::string name = GetParam();
  const model::Model model = test::load_model(test::kGoldenFolder / "models" / name);
  const SafetensorsFile golden = test::open_golden(name);
  const std::vector<std::string_view> known = strategy::strategy_names();
  int matched = 0;

  const Json document = read_json(test::kGoldenFolder / (name + ".json"));
  for (const Json& run : document["runs"]) {
    if (std::ranges::find(known, run["strategy"].get<std::string>()) == known.end()) continue;
    expect_run_matches(model, golden, run);
    ++matched;
  }

  EXPECT_GE(matched, 7);
}

INSTANTIATE_TEST_SUITE_P(Models, Golden,
                         testing::Values("vit-tiny", "bert-tiny", "gpt2-tiny", "vivit-tiny"));

}  // namespace
}  // namespace thinwire
