// The trained models beside the scores that are known of them. They are large files that a clone
// does not have; without them these tests are skipped.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "support/golden.hpp"
#include "support/local_run.hpp"
#include "support/single_pass.hpp"
#include "thinwire/eval/sample.hpp"
#include "thinwire/model/weight_source.hpp"

namespace thinwire::eval {
namespace {

const std::filesystem::path kShared = THINWIRE_SHARED_DIR;

/// A trained model and the file that it is judged on.
class ReferenceModel : public testing::Test {
 protected:
  void open(const std::string& model, const std::string& data) {
    const std::filesystem::path folder = kShared / "models" / model;
    data_ = kShared / data;
    if (!std::filesystem::exists(folder) || !std::filesystem::exists(data_))
      GTEST_SKIP() << "models/" << model << " or " << data << " is not beside this checkout";
    model::Checkpoint checkpoint = model::open_checkpoint(folder);
    model_.emplace(checkpoint.config, *checkpoint.weights,
                   model::WeightPlace{std::pmr::new_delete_resource()});
    preprocessing_ = preprocessing_for(model_->config(), folder);
  }
  Sample sample(Index index) const {
    return load_sample(data_, index, model_->config(), preprocessing_);
  }

  std::filesystem::path data_;
  std::optional<model::Model> model_;
  Preprocessing preprocessing_;
};

TEST_F(ReferenceModel, MiniLmEmbedsAsHuggingFace) {
  open("minilm-l6", "golden/minilm_sts16.safetensors");
  if (!model_) return;
  const SafetensorsFile golden(data_);
  const Matrix<float> embeddings = test::golden_matrix(golden, "embedding");
  const Matrix<float> states = test::golden_matrix(golden, "last_hidden_state");
  const auto lengths = golden.integers("length");

  for (Index i = 0; i < 16; ++i) {
    SCOPED_TRACE(i);
    const Index length = lengths[static_cast<std::size_t>(i)];
    const model::ModelInput packed = sample(i).sequences.front();
    model::ModelInput padded = packed;
    padded.ids.resize(64, 0);
    padded.real.assign(64, 0);
    std::fill_n(padded.real.begin(), length, std::uint8_t{1});

    const test::SinglePass without = test::single_pass(*model_, packed);
    const test::SinglePass with = test::single_pass(*model_, padded);

    ASSERT_EQ(packed.tokens(model_->config()), length);
    for (const test::SinglePass* pass : {&without, &with}) {
      EXPECT_LT(test::relative_difference(pass->mean_pooled.view(), embeddings.view().rows(i, 1)),
                1e-5);
      EXPECT_LT(test::relative_difference(pass->hidden.back().first(length),
                                          states.view().rows(64 * i, length)),
                1e-5);
    }
  }
}

TEST_F(ReferenceModel, MiniLmEmbedsAsHuggingFaceUnderEveryExactStrategy) {
  open("minilm-l6", "golden/minilm_sts16.safetensors");
  if (!model_) return;
  const SafetensorsFile golden(data_);
  const Matrix<float> embeddings = test::golden_matrix(golden, "embedding");

  for (const Index i : {0, 5, 10, 15}) {
    const model::ModelInput packed = sample(i).sequences.front();
    model::ModelInput padded = packed;  // to 64: the last devices have padding alone
    padded.ids.resize(64, 0);
    padded.real.assign(64, 0);
    std::fill_n(padded.real.begin(), packed.ids.size(), std::uint8_t{1});
    const auto expect_same = [&](const char* strategy, int devices, const model::ModelInput& input,
                                 const strategy::StrategyOptions& options = {}) {
      SCOPED_TRACE(testing::Message()
                   << strategy << ", sentence " << i << ", " << input.ids.size() << " tokens");
      const auto pass = test::run_pass(*model_, strategy, devices, options, input);
      EXPECT_LT(test::relative_difference(pass.values.view(), embeddings.view().rows(i, 1)), 1e-4);
    };

    for (const model::ModelInput* input : {&std::as_const(packed), &std::as_const(padded)}) {
      expect_same("voltage", 3, *input);
      expect_same("tensor", 3, *input);
      expect_same("pipeline", 3, *input);
    }
    expect_same("prism", 4, padded, {.segments = 16});
  }
}

TEST_F(ReferenceModel, VitRecognisesCifarPictures) {
  constexpr Index kPictures = 100;
  open("vit-cifar10", "data/cifar10_test.safetensors");
  if (!model_) return;

  int right = 0;
  for (Index i = 0; i < kPictures; ++i) {
    const Sample picture = sample(i);
    const auto pass = test::single_pass(*model_, picture.sequences.front());
    const auto logits = pass.logits.view().row(0);
    right += std::ranges::max_element(logits) - logits.begin() == picture.label ? 1 : 0;
  }

  // 71.97 % over all pictures; three standard errors of 100 are 13 %. Wrong pixels or patches
  // give a few tens.
  EXPECT_GE(right, 59);
  EXPECT_LE(right, 85);
}

TEST_F(ReferenceModel, Gpt2PredictsBytesOfShakespeare) {
  constexpr Index kWindows = 12, kStride = 36;  // all over the text: acts differ
  open("gpt2-shakespeare", "data/shakespeare.safetensors");
  if (!model_) return;

  double bits = 0;
  std::size_t predictions = 0;
  for (Index i = 0; i < kWindows; ++i) {
    const model::ModelInput window = sample(kStride * i).sequences.front();
    const test::SinglePass pass = test::single_pass(*model_, window);
    for (std::size_t t = 1; t < window.ids.size(); ++t, ++predictions) {
      const auto logits = pass.logits.view().row(static_cast<Index>(t) - 1);
      double sum = 0;
      for (const float logit : logits) sum += std::exp(double{logit});
      bits +=
          std::log2(sum) - logits[static_cast<std::size_t>(window.ids[t])] * std::numbers::log2e;
    }
  }

  EXPECT_EQ(predictions, 12U * 255);
  EXPECT_NEAR(bits / static_cast<double>(predictions), 2.2312, 0.2);  // over all 435 windows
}

}  // namespace
}  // namespace thinwire::eval
