#include "thinwire/train/codebook_quality.hpp"

#include <gtest/gtest.h>

#include "support/local_run.hpp"
#include "support/temporary_folder.hpp"
#include "thinwire/train/codebook_output.hpp"
#include "train/tiny_training.hpp"

namespace thinwire::train {
namespace {

/// Four codewords that are all alike.
class EqualCodewords final : public compress::CodebookSource {
 public:
  explicit EqualCodewords(const model::ModelConfig& config) : hidden_(config.hidden) {}
  Index codewords() const override { return 4; }
  std::vector<Index> levels() const override { return {4}; }
  Matrix<float> values(Index /*exchange*/, Index /*group*/) override {
    Matrix<float> values(4, hidden_);
    std::ranges::fill(values.view().elements(), 1.0F);
    return values;
  }
  std::string fingerprint() const override { return "0123456789abcdef"; }

 private:
  Index hidden_;
};

std::vector<model::ModelInput> inputs_for(const model::Model& model, Index count) {
  return RandomSamples(model.config(), count).load_all();
}

TEST(MeasureQuality, OneCodewordInUseHasPerplexityOne) {
  const model::Model model = test::load_model(kModels / "vit-tiny");
  const CalibrationSetting setting = tiny_options().setting;
  EqualCodewords source(model.config());
  const compress::CodebookSet set(model, codebook_use(setting, 1), source,
                                  {std::pmr::new_delete_resource()});

  const auto qualities = measure_quality(model, setting, set, source, inputs_for(model, 2), {});

  ASSERT_EQ(qualities.size(), 3U);  // exchanges of one level
  for (const ExchangeQuality& quality : qualities) {
    EXPECT_EQ(quality.rows, 2 * 17);
    EXPECT_EQ(quality.used, 1);
    EXPECT_NEAR(quality.perplexity, 1, 1e-9);
    EXPECT_GT(quality.distortion, 0.1);
  }
}

TEST(MeasureQuality, FinerLevelsUseMoreCodewordsAndLoseLess) {
  const test::TemporaryFolder folder;
  const model::Model model = test::load_model(kModels / "vit-tiny");
  const TrainingOptions options = tiny_options();
  const RandomSamples samples(model.config(), 10);
  const auto solo = fabric::make_solo_transport();
  Trainer trainer(model, options, samples, *solo);
  run_to_end(trainer);
  write_codebooks(trainer, {}, {}, folder / "codebooks.safetensors");
  const auto source = compress::open_codebooks(folder / "codebooks.safetensors", model.config(),
                                               trainer.use(), model.fingerprint());
  const compress::CodebookSet set(model, trainer.use(), *source, {std::pmr::new_delete_resource()});

  double part = 0;
  const auto qualities = measure_quality(model, options.setting, set, *source, inputs_for(model, 6),
                                         [&](double done) { part = done; });

  ASSERT_EQ(qualities.size(), 3U * 4U);  // levels 2, 4, 8, 16
  EXPECT_EQ(part, 1);
  for (std::size_t i = 0; i < qualities.size(); ++i) {
    EXPECT_EQ(qualities[i].exchange, static_cast<Index>(i / 4));
    EXPECT_EQ(qualities[i].level, static_cast<int>(i % 4));
    EXPECT_EQ(qualities[i].codewords, Index{2} << (i % 4));
    EXPECT_LE(qualities[i].perplexity, qualities[i].used + 1e-9);
    EXPECT_LE(qualities[i].used, qualities[i].codewords);
    // What exchange 0 codes does not depend on the level: more codewords lose less.
    if (i > 0 && i < 4) {
      EXPECT_LT(qualities[i].distortion, qualities[i - 1].distortion);
    }
  }
}

}  // namespace
}  // namespace thinwire::train
