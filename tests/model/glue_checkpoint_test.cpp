// Checkpoints of GLUE tasks: one output for a regression (STS-B), two or three classes, and two
// sentences in one sequence, told apart by token types.
#include <gtest/gtest.h>

#include "support/glue_checkpoint.hpp"
#include "support/golden.hpp"
#include "support/single_pass.hpp"

namespace thinwire::model {
namespace {

Model load_glue(Index labels) {
  const test::TemporaryFolder folder;
  test::write_glue_checkpoint(folder, labels);
  Checkpoint checkpoint = open_checkpoint(folder.path());
  Model model(checkpoint.config, *checkpoint.weights, {std::pmr::new_delete_resource()});
  checkpoint.weights->require_all_used();
  return model;
}

ModelInput sentence_pair(std::vector<std::int32_t> types) {
  ModelInput input;
  input.ids = {2, 5, 7, 3, 11, 13, 17, 3};
  input.types = std::move(types);
  return input;
}

void expect_logits(const Model& model, const ModelInput& input, std::span<const double> expected) {
  const test::SinglePass pass = test::single_pass(model, input);
  const auto logits = pass.logits.view();
  ASSERT_EQ(logits.cols(), std::ssize(expected));
  for (Index l = 0; l < logits.cols(); ++l)
    EXPECT_NEAR(logits(0, l), expected[static_cast<std::size_t>(l)], 1e-5);
}

TEST(GlueCheckpoint, GivesTheLogitsOfHuggingFace) {
  // Once, in fp64, by transformers 5.24.0 and PyTorch 2.14.1: the weights of glue_checkpoint.hpp
  // in BertForSequenceClassification, eval(), logits of input_ids and token_type_ids. The first
  // rows of the classifiers are the same.
  constexpr std::array kSegments = {-0.286665603, 0.426526719, 1.406190224};
  constexpr std::array kOneSegment = {0.131493700, 0.046899257, 1.012744841};
  for (const Index labels : {1, 2, 3}) {
    SCOPED_TRACE(labels);
    const auto count = static_cast<std::size_t>(labels);

    const Model model = load_glue(labels);

    EXPECT_EQ(model.config().head, HeadKind::pooler);
    EXPECT_EQ(model.config().labels, labels);
    EXPECT_EQ(model.config().is_regression(), labels == 1);
    expect_logits(model, sentence_pair({0, 0, 0, 0, 1, 1, 1, 1}),
                  std::span(kSegments).first(count));
    expect_logits(model, sentence_pair({}), std::span(kOneSegment).first(count));
    expect_logits(model, sentence_pair(std::vector<std::int32_t>(8, 0)),
                  std::span(kOneSegment).first(count));
  }
}

TEST(GlueCheckpoint, PaddingChangesNothing) {
  const Model model = load_glue(1);
  ModelInput padded = sentence_pair({0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0});
  padded.ids.resize(11, 0);
  padded.real.assign(11, 1);
  std::fill(padded.real.begin() + 8, padded.real.end(), std::uint8_t{0});

  expect_logits(model, padded, std::array{-0.286665603});
}

}  // namespace
}  // namespace thinwire::model
