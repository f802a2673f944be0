#include "thinwire/train/trainer.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/golden.hpp"
#include "support/local_run.hpp"
#include "support/messages.hpp"
#include "support/temporary_folder.hpp"
#include "thinwire/train/codebook_output.hpp"
#include "thinwire/train/codebook_quality.hpp"
#include "train/tiny_training.hpp"

namespace thinwire::train {
namespace {

std::vector<float> all_codewords(const Trainer& trainer) {
  std::vector<float> values;
  for (Index exchange = 0; exchange < trainer.layers(); ++exchange)
    for (Index group = 0; group < trainer.use().groups; ++group) {
      if (!trainer.use().codes(exchange)) continue;
      const auto codewords = trainer.state(exchange, group).codewords.view().elements();
      values.insert(values.end(), codewords.begin(), codewords.end());
    }
  return values;
}

std::vector<float> train(const model::Model& model, const TrainingOptions& options) {
  const RandomSamples samples(model.config(), 10);
  const auto solo = fabric::make_solo_transport();
  Trainer trainer(model, options, samples, *solo);
  run_to_end(trainer);
  return all_codewords(trainer);
}

/// Sum over the exchanges of the distortion on the finest level.
double distortion(const model::Model& model, const TrainingOptions& options,
                  compress::CodebookSource& source) {
  const compress::CodebookUse use = codebook_use(options.setting, options.groups);
  const compress::CodebookSet set(model, use, source, {std::pmr::new_delete_resource()});
  const auto inputs = RandomSamples(model.config(), 6).load_all();
  double sum = 0;
  const auto finest = static_cast<int>(set.levels().size()) - 1;
  for (const ExchangeQuality& quality :
       measure_quality(model, options.setting, set, source, inputs, {}))
    if (quality.level == finest) sum += quality.distortion;
  return sum;
}

TEST(Trainer, MakesBetterCodebooksThanRandomOnesForEveryStrategyAndModel) {
  const test::TemporaryFolder folder;
  for (const char* name : {"vit-tiny", "bert-tiny", "gpt2-tiny", "vivit-tiny"})
    for (const char* strategy : {"trace-b", "trace-2a", "trace-nb", "trace-1b", "astra"}) {
      SCOPED_TRACE(fmt::format("{} {}", name, strategy));
      const model::Model model = test::load_model(kModels / name);
      const TrainingOptions options = tiny_options(strategy);
      const RandomSamples samples(model.config(), 10);
      const auto solo = fabric::make_solo_transport();
      Trainer trainer(model, options, samples, *solo);
      run_to_end(trainer);
      write_codebooks(trainer, {}, {}, folder / "codebooks.safetensors");

      const auto trained = compress::open_codebooks(
          folder / "codebooks.safetensors", model.config(), trainer.use(), model.fingerprint());
      const auto random = compress::random_codebooks(model.config(), trainer.use(), 16, 1);

      EXPECT_LT(distortion(model, options, *trained), 0.8 * distortion(model, options, *random));
    }
}

TEST(Trainer, EveryUpdateStrategyGivesTheSameBitsTwice) {
  const model::Model model = test::load_model(kModels / "vit-tiny");
  std::vector<std::vector<float>> results;
  for (const std::string_view update : update_names()) {
    TrainingOptions options = tiny_options();
    options.update = parse_update(update);
    options.subspace_width = 8;
    results.push_back(train(model, options));

    EXPECT_EQ(results.back(), train(model, options)) << update;
  }
  for (std::size_t a = 0; a < results.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) EXPECT_NE(results[a], results[b]);
}

TEST(Trainer, AnotherSeedGivesOtherCodebooks) {
  const model::Model model = test::load_model(kModels / "vit-tiny");
  TrainingOptions options = tiny_options();
  const std::vector<float> first = train(model, options);
  options.seed = 12;

  EXPECT_NE(train(model, options), first);
}

TEST(Trainer, ContinuesAfterAnyStepAsIfNothingHadHappened) {
  const test::TemporaryFolder folder;
  const model::Model model = test::load_model(kModels / "vit-tiny");
  const RandomSamples samples(model.config(), 10);
  const auto solo = fabric::make_solo_transport();
  for (const std::string_view update : {"ema", "subspace"}) {
    TrainingOptions options = tiny_options();
    options.update = parse_update(update);
    options.subspace_width = 8;
    const std::vector<float> expected = train(model, options);
    Trainer first(model, options, samples, *solo);
    while (!first.is_done()) {
      first.step({});
      first.save(folder / "state.safetensors");
      Trainer second(model, options, samples, *solo);
      second.resume(folder / "state.safetensors");
      EXPECT_EQ(second.steps_done(), first.steps_done());

      run_to_end(second);

      EXPECT_EQ(all_codewords(second), expected) << first.steps_done();
      EXPECT_EQ(second.rows_seen(), 2 * 10 * 17);
    }
  }
}

TEST(Trainer, RefusesAStateOfOtherSettings) {
  const test::TemporaryFolder folder;
  const model::Model model = test::load_model(kModels / "vit-tiny");
  const RandomSamples samples(model.config(), 10);
  const auto solo = fabric::make_solo_transport();
  Trainer(model, tiny_options(), samples, *solo).save(folder / "state.safetensors");
  TrainingOptions options = tiny_options();
  options.batch = 5;
  Trainer other(model, options, samples, *solo);

  const std::string message =
      test::input_error([&] { other.resume(folder / "state.safetensors"); });

  EXPECT_TRUE(test::mentions(message, {"state.safetensors", "batch", "4", "5", "--resume"}));
}

TEST(Trainer, RanksShareTheSamplesAndHoldTheSameCodebooks) {
  const model::Model model = test::load_model(kModels / "vit-tiny");
  const RandomSamples samples(model.config(), 9);
  std::vector<std::vector<float>> codewords(4);
  for (std::size_t run = 0; run < 2; ++run)
    test::on_devices(2, [&](fabric::Transport& ranks) {
      Trainer trainer(model, tiny_options(), samples, ranks);
      run_to_end(trainer);
      EXPECT_EQ(trainer.rows_seen(), 2 * 9 * 17);
      codewords[2 * run + static_cast<std::size_t>(ranks.rank())] = all_codewords(trainer);
    });

  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(codewords[0], codewords[i]);
}

TEST(Trainer, RowsOfPaddingAreNotSeen) {
  const model::Model model = test::load_model(kModels / "bert-tiny");
  const RandomSamples samples(model.config(), 10, 7);
  const auto solo = fabric::make_solo_transport();
  Trainer trainer(model, tiny_options(), samples, *solo);
  run_to_end(trainer);

  EXPECT_EQ(trainer.rows_seen(), 2 * 10 * (model.config().tokens - 7));
}

TEST(Trainer, FirstBatchIsAsLongAsFourTokensACodewordTake) {
  const model::Model model = test::load_model(kModels / "vit-tiny");
  const RandomSamples samples(model.config(), 10);
  const auto solo = fabric::make_solo_transport();
  TrainingOptions options = tiny_options();  // 64 tokens: 4 samples of 17
  options.epochs = 1;
  options.batch = 1;

  const Trainer trainer(model, options, samples, *solo);

  EXPECT_EQ(trainer.work(0), 4);
  EXPECT_EQ(trainer.steps(), 3 + 6);  // three codebooks, then a batch for each other sample
}

TEST(Trainer, TooFewTokensAreRefusedWithWhatWouldFit) {
  const model::Model model = test::load_model(kModels / "vit-tiny");
  const RandomSamples samples(model.config(), 3);
  const auto solo = fabric::make_solo_transport();

  const std::string message =
      test::input_error([&] { Trainer(model, tiny_options(), samples, *solo); });

  EXPECT_TRUE(test::mentions(message, {"--codewords=16", "64 tokens", "3 samples", "51", "12"}));
}

TEST(Trainer, OptionsThatDoNotFitAreRefused) {
  const model::Model model = test::load_model(kModels / "vit-tiny");
  const auto message_for = [&](auto&& change) {
    TrainingOptions options = tiny_options();
    change(options);
    return test::input_error([&] { check(options, model.config()); });
  };

  EXPECT_TRUE(test::mentions(message_for([](auto& o) { o.setting.strategy = "voltage"; }),
                             {"--strategy=voltage", "codebooks", "astra"}));
  EXPECT_TRUE(test::mentions(message_for([](auto& o) { o.setting.strategy = "trace-c"; }),
                             {"trace-c", "trace-b"}));
  EXPECT_TRUE(
      test::mentions(message_for([](auto& o) { o.setting.devices = 1; }), {"--devices=1", "two"}));
  EXPECT_TRUE(test::mentions(message_for([](auto& o) { o.groups = 3; }), {"--groups=3", "astra"}));
  EXPECT_TRUE(test::mentions(message_for([](auto& o) {
                               o.setting.strategy = "astra";
                               o.groups = 5;
                             }),
                             {"--groups=5", "48"}));
  EXPECT_TRUE(test::mentions(message_for([](auto& o) { o.codewords = 1; }),
                             {"--codewords=1", "2", "65536"}));
}

TEST(WriteCodebooks, RefusesLevelsThatDoNotFit) {
  const auto message_for = [&](const char* strategy, std::vector<Index> levels) {
    return test::input_error(
        [&] { check(OutputOptions{std::move(levels)}, tiny_options(strategy)); });
  };

  EXPECT_TRUE(test::mentions(message_for("trace-b", {4, 2, 16}), {"--levels=4,2,16", "ascend"}));
  EXPECT_TRUE(test::mentions(message_for("trace-b", {2, 8}), {"--levels=2,8", "16"}));
  EXPECT_TRUE(test::mentions(message_for("astra", {2, 16}), {"--levels=2,16", "astra"}));
}

TEST(WriteCodebooks, TellsHowTheFileWasMade) {
  const model::Model model = test::load_model(kModels / "vit-tiny");
  TrainingOptions options = tiny_options("astra");
  options.groups = 3;
  const RandomSamples samples(model.config(), 10);
  const auto solo = fabric::make_solo_transport();
  Trainer trainer(model, options, samples, *solo);
  run_to_end(trainer);
  const test::TemporaryFolder folder;
  write_codebooks(trainer, {}, {{"note", "for people"}}, folder / "codebooks.safetensors");
  const SafetensorsFile file(folder / "codebooks.safetensors");

  EXPECT_EQ(file.metadata().at("model_fingerprint"), model.fingerprint());
  EXPECT_EQ(file.metadata().at("strategy"), "astra");
  EXPECT_EQ(file.metadata().at("note"), "for people");
  EXPECT_EQ(file.metadata().at("tokens"), std::to_string(2 * 10 * 17));
  EXPECT_EQ(file.at("astra.g3.codebook.2.2").shape, (std::vector<Index>{16, 16}));
}

}  // namespace
}  // namespace thinwire::train
