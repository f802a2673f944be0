// Every golden run: logits, hidden states, and what is published (means, indices, frames).
#include <gtest/gtest.h>

#include "support/codebooks.hpp"
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
  options.level = run.value("level", -1);
  return options;
}

/// The codebooks of a run's strategy; nothing where none are used.
std::optional<compress::CodebookSet> codebooks_of(const model::Model& model,
                                                  const std::string& name, const Json& run) {
  const std::string strategy = run["strategy"];
  const auto entry =
      std::ranges::find(strategy::strategies(), strategy, &strategy::StrategyEntry::name);
  if (!entry->codebooks) return std::nullopt;
  compress::CodebookUse use = *entry->codebooks;
  use.groups = run.value("groups", 1);
  if (!run.value("buffers", true)) use.buffers = compress::Buffers::off;
  return test::make_golden_codebooks(model, name, use);
}

Index real_tokens(const model::ModelInput& input, Index tokens) {
  Index real = 0;  // padding is on the right
  while (real < tokens && input.is_real(real)) ++real;
  return real;
}

/// Indices of real tokens, and frames where all tokens are real: exactly.
void expect_indices_match(const SafetensorsFile& golden, const std::string& run,
                          const test::PassResult& ours, Index exchange, Index tokens, Index real) {
  const std::string number = std::to_string(exchange);
  if (golden.has(run + ".indices." + number)) {
    std::vector<std::int32_t> expected = golden.integers(run + ".indices." + number);
    std::vector<std::int32_t> indices = ours.quantised_indices(exchange);
    ASSERT_EQ(indices.size(), expected.size());
    const std::size_t compared =
        expected.size() / static_cast<std::size_t>(tokens) * static_cast<std::size_t>(real);
    indices.resize(compared);
    expected.resize(compared);
    EXPECT_EQ(indices, expected) << "exchange " << exchange;
  }
  const auto& payloads = ours.payloads[static_cast<std::size_t>(exchange)];
  for (std::size_t p = 0; real == tokens && p < payloads.size(); ++p) {
    const std::string key = run + ".frame." + number + "." + std::to_string(p);
    if (!golden.has(key)) continue;
    EXPECT_TRUE(std::ranges::equal(payloads[p], golden.at(key).bytes)) << key;
  }
}

void expect_run_matches(const model::Model& model, const std::string& model_name,
                        const SafetensorsFile& golden, const Json& run) {
  const std::string name = run["name"];
  SCOPED_TRACE(name);
  const double tolerance = run["tolerance"];
  const int devices = run["devices"];
  const model::ModelInput input = test::golden_input(golden, run["input"]);
  const bool has_means = golden.has(name + ".means.0");
  const Index rows = has_means ? golden.at(name + ".means.0").shape[0] / devices : 0;

  const auto codebooks = codebooks_of(model, model_name, run);
  StrategyOptions options = options_of(run);
  if (codebooks) options.codebooks = &*codebooks;

  const test::PassResult ours =
      test::run_pass(model, run["strategy"].get<std::string>(), devices, options, input, rows);

  const Matrix<float> logits = test::golden_matrix(golden, name + ".logits");
  EXPECT_LE(test::relative_difference(ours.values.view(), logits.view()), tolerance);
  for (Index l = 0; l <= model.config().layers; ++l) {
    const std::string key = name + ".hidden." + std::to_string(l);
    if (!golden.has(key)) continue;
    const Matrix<float> hidden = test::golden_matrix(golden, key);
    const Index real = real_tokens(input, hidden.rows());  // padding rows need not match
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
  const Index tokens = input.tokens(model.config());
  for (Index e = 0; codebooks && e < model.config().layers; ++e)
    expect_indices_match(golden, name, ours, e, tokens, real_tokens(input, tokens));
}

class Golden : public testing::TestWithParam<const char*> {};

TEST_P(Golden, EveryRunMatches) {
  const std::string name = GetParam();
  const model::Model model = test::load_model(test::kGoldenFolder / "models" / name);
  const SafetensorsFile golden = test::open_golden(name);

  const Json document = read_json(test::kGoldenFolder / (name + ".json"));
  ASSERT_GE(document["runs"].size(), 17U);
  for (const Json& run : document["runs"]) expect_run_matches(model, name, golden, run);
}

INSTANTIATE_TEST_SUITE_P(Models, Golden,
                         testing::Values("vit-tiny", "bert-tiny", "gpt2-tiny", "vivit-tiny"));

}  // namespace
}  // namespace thinwire
