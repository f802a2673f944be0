#include <gtest/gtest.h>

#include <numeric>

#include "support/golden.hpp"
#include "support/messages.hpp"
#include "support/raw_safetensors.hpp"
#include "support/temporary_folder.hpp"
#include "thinwire/eval/data_file.hpp"
#include "thinwire/model/weight_source.hpp"

namespace thinwire::eval {
namespace {

using model::Family;
using test::raw_tensor;
using test::RawTensors;

using Ints = std::vector<std::int32_t>;

model::ModelConfig golden_config(const std::string& model) {
  return model::open_checkpoint(test::kGoldenFolder / "models" / model).config;
}

/// A data file of given tensors, and a model of each family to read it.
class LoadSample : public testing::Test {
 protected:
  Sample load(const RawTensors& tensors, Index index, const model::ModelConfig& config,
              Index window = 0) const {
    test::write_raw(folder_ / "data.safetensors", tensors);
    return load_sample(folder_ / "data.safetensors", index, config, preprocessing_for(config, {}),
                       window);
  }
  std::string refusal(const RawTensors& tensors, Index index, const model::ModelConfig& config,
                      Index window = 0) const {
    return test::input_error([&] { load(tensors, index, config, window); });
  }

  test::TemporaryFolder folder_;
  const model::ModelConfig vit_ = golden_config("vit-tiny"), bert_ = golden_config("bert-tiny"),
                           gpt2_ = golden_config("gpt2-tiny"), vivit_ = golden_config("vivit-tiny");
  /// Four sequences of at most three tokens, with lengths.
  const RawTensors packed_ = {
      {"input_ids", raw_tensor("I32", {4, 3}, Ints{1, 2, 0, 3, 4, 5, 6, 0, 0, 7, 8, 9})},
      {"length", raw_tensor("I32", {4}, Ints{2, 3, 1, 3})}};
};

TEST_F(LoadSample, PicturesAreCutFromTheImageTensor) {
  std::vector<std::uint8_t> bytes(2 * 32 * 32 * 3, 0);
  std::fill(bytes.begin() + 32 * 32 * 3, bytes.end(), std::uint8_t{255});
  const RawTensors data = {{"image", raw_tensor("U8", {2, 32, 32, 3}, bytes)},
                           {"label", raw_tensor("I32", {2}, Ints{4, 9})}};

  const Sample first = load(data, 0, vit_), second = load(data, 1, vit_);

  ASSERT_EQ(first.sequences.size(), 1U);
  EXPECT_EQ(first.sequences[0].pixels, std::vector<float>(3 * 32 * 32, -1.0F));
  EXPECT_EQ(second.sequences[0].pixels, std::vector<float>(3 * 32 * 32, 1.0F));
  EXPECT_EQ(first.label, 4);
  EXPECT_EQ(second.label, 9);
  EXPECT_FALSE(first.is_bytes);
}

TEST_F(LoadSample, PicturesOfAnotherSizeAreResized) {
  const RawTensors data = {
      {"image", raw_tensor("U8", {1, 50, 20, 3}, std::vector<std::uint8_t>(3000, 51))}};

  const Sample sample = load(data, 0, vit_);

  ASSERT_EQ(sample.sequences[0].pixels.size(), 3U * 32 * 32);
  for (const float pixel : sample.sequences[0].pixels) ASSERT_NEAR(pixel, -0.6, 1e-6);
  EXPECT_FALSE(sample.label.has_value());
}

TEST_F(LoadSample, APictureFileIsASampleOfItsOwn) {
  const auto file = std::filesystem::path(THINWIRE_TEST_DATA) / "pictures" / "noise_37x23.png";

  const Sample sample = load_sample(file, 0, vit_, preprocessing_for(vit_, {}));

  EXPECT_EQ(sample.sequences[0].pixels, to_pixels(read_picture(file), preprocessing_for(vit_, {})));
  EXPECT_TRUE(test::mentions(
      test::input_error([&] { load_sample(file, 1, vit_, preprocessing_for(vit_, {})); }),
      {"noise_37x23.png", "sample 1"}));
  EXPECT_TRUE(test::mentions(
      test::input_error([&] { load_sample(file, 0, bert_, preprocessing_for(bert_, {})); }),
      {"noise_37x23.png", "bert-tiny"}));
}

TEST_F(LoadSample, LengthsCutThePaddingOff) {
  const Sample sample = load(packed_, 2, bert_);

  ASSERT_EQ(sample.sequences.size(), 1U);
  EXPECT_EQ(sample.sequences[0].ids, Ints{6});
  EXPECT_TRUE(sample.sequences[0].real.empty());
}

TEST_F(LoadSample, MasksKeepThePadding) {
  RawTensors data = packed_;
  data.erase("length");
  data["attention_mask"] = raw_tensor("I32", {4, 3}, Ints{1, 1, 0, 1, 1, 1, 1, 0, 0, 1, 1, 1});

  const Sample sample = load(data, 2, bert_);

  EXPECT_EQ(sample.sequences[0].ids, (Ints{6, 0, 0}));
  EXPECT_EQ(sample.sequences[0].real, (std::vector<std::uint8_t>{1, 0, 0}));
}

TEST_F(LoadSample, HalfAsManyAnswersMakePairs) {
  RawTensors scored = packed_, labelled = packed_;
  scored["score"] = raw_tensor("F32", {2}, std::vector<float>{1.5F, 4.25F});
  labelled["label"] = raw_tensor("I32", {2}, Ints{0, 1});

  const Sample score = load(scored, 1, bert_), label = load(labelled, 1, bert_);

  ASSERT_EQ(score.sequences.size(), 2U);
  EXPECT_EQ(score.sequences[0].ids, Ints{6});
  EXPECT_EQ(score.sequences[1].ids, (Ints{7, 8, 9}));
  EXPECT_EQ(score.score, 4.25F);
  EXPECT_FALSE(score.label.has_value());
  EXPECT_EQ(label.sequences.size(), 2U);
  EXPECT_EQ(label.label, 1);
}

TEST_F(LoadSample, OneAnswerASequenceMakesSingles) {
  RawTensors data = packed_;
  data["label"] = raw_tensor("I32", {4}, Ints{0, 1, 0, 1});

  const Sample sample = load(data, 3, bert_);

  EXPECT_EQ(sample.sequences.size(), 1U);
  EXPECT_EQ(sample.sequences[0].ids, (Ints{7, 8, 9}));
  EXPECT_EQ(sample.label, 1);
}

TEST_F(LoadSample, LabelsAndScoresOfDifferentSizesAreRefused) {
  RawTensors data = packed_;
  data["label"] = raw_tensor("I32", {4}, Ints{0, 1, 0, 1});
  data["score"] = raw_tensor("F32", {2}, std::vector<float>{1, 2});

  EXPECT_TRUE(test::mentions(refusal(data, 3, bert_), {"score is [2]", "label is [4]"}));
}

TEST_F(LoadSample, TokenTypesAreCutWithTheirTokens) {
  RawTensors data = packed_;
  data["token_type_ids"] = raw_tensor("I32", {4, 3}, Ints{0, 1, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0});

  EXPECT_EQ(load(data, 0, bert_).sequences[0].types, (Ints{0, 1}));
  EXPECT_EQ(load(data, 1, bert_).sequences[0].types, (Ints{0, 0, 1}));
}

TEST_F(LoadSample, SixtyFourBitIdsAreRead) {
  RawTensors data = packed_;
  data["input_ids"] = raw_tensor("I64", {4, 1}, std::vector<std::int64_t>{1, 2, 3, 4});
  data["length"] = raw_tensor("I64", {4}, std::vector<std::int64_t>{1, 1, 1, 1});

  EXPECT_EQ(load(data, 2, bert_).sequences[0].ids, Ints{3});
}

TEST_F(LoadSample, BytesComeInWindows) {
  std::vector<std::uint8_t> train(100, 1), valid(20);
  std::iota(valid.begin(), valid.end(), std::uint8_t{10});
  RawTensors data = {{"train", raw_tensor("U8", {100}, train)},
                     {"valid", raw_tensor("U8", {20}, valid)}};

  const Sample second = load(data, 1, gpt2_, 6);

  EXPECT_TRUE(second.is_bytes);
  EXPECT_EQ(second.sequences[0].ids, (Ints{16, 17, 18, 19, 20, 21}));
  EXPECT_TRUE(test::mentions(refusal(data, 3, gpt2_, 6), {"sample 3", "3 windows of 6", "0..2"}));
  EXPECT_TRUE(test::mentions(refusal(data, 0, gpt2_, 65), {"65", "64 positions"}));
  // load() has left the file behind.
  const Sample calibration =
      load_sample(folder_ / "data.safetensors", 1, gpt2_, {}, 6, BytesPart::train);
  EXPECT_EQ(calibration.sequences[0].ids, Ints(6, 1));
  data.erase("valid");
  EXPECT_EQ(load(data, 0, gpt2_).sequences[0].ids, Ints(64, 1));  // the position table's length
}

TEST_F(LoadSample, AReadyInputFitsEveryFamily) {
  for (const auto& config : {vit_, bert_, gpt2_, vivit_}) {
    SCOPED_TRACE(config.name);
    const auto file = test::kGoldenFolder / (config.name + ".safetensors");
    const model::ModelInput wanted = test::golden_input(SafetensorsFile(file), "input");

    const Sample sample = load_sample(file, 0, config, preprocessing_for(config, {}));

    ASSERT_EQ(sample.sequences.size(), 1U);
    EXPECT_EQ(sample.sequences[0].pixels, wanted.pixels);
    EXPECT_EQ(sample.sequences[0].ids, wanted.ids);
  }
}

TEST_F(LoadSample, TheWrongKindOfDataIsNamed) {
  const RawTensors pictures = {
      {"image", raw_tensor("U8", {1, 32, 32, 3}, std::vector<std::uint8_t>(3072))}};
  const RawTensors bytes = {{"valid", raw_tensor("U8", {9}, std::vector<std::uint8_t>(9))}};

  EXPECT_TRUE(
      test::mentions(refusal(pictures, 0, bert_), {"data.safetensors", "bert-tiny", "input_ids"}));
  EXPECT_TRUE(test::mentions(refusal(packed_, 0, vit_), {"data.safetensors", "vit-tiny", "image"}));
  EXPECT_TRUE(test::mentions(refusal(pictures, 0, vivit_), {"vivit-tiny", "input"}));
  EXPECT_TRUE(test::mentions(refusal(bytes, 0, bert_), {"valid", "bert-tiny", "256"}));
  EXPECT_TRUE(test::mentions(refusal(bytes, 0, model::preset("gpt2")), {"valid", "gpt2", "256"}));
}

TEST_F(LoadSample, AnIndexBehindTheEndIsRefused) {
  RawTensors pairs = packed_;
  pairs["score"] = raw_tensor("F32", {2}, std::vector<float>{1, 2});

  EXPECT_TRUE(test::mentions(refusal(packed_, 4, bert_), {"sample 4", "4 sequences", "0..3"}));
  EXPECT_TRUE(test::mentions(refusal(pairs, 2, bert_), {"sample 2", "2 pairs", "0..1"}));
  EXPECT_TRUE(test::mentions(refusal(packed_, -1, bert_), {"sample -1"}));
}

/// The packed file with one tensor replaced (or, without a type, removed) is refused.
struct BadTensor {
  const char* name;
  test::RawTensor tensor;
  std::initializer_list<std::string_view> words;
};

TEST_F(LoadSample, MisshapenAndImpossibleTensorsAreNamed) {
  const BadTensor cases[] = {
      {"length", raw_tensor("I32", {3}, Ints{1, 1, 1}), {"length", "[3]", "4 rows"}},
      {"length", raw_tensor("I32", {4}, Ints{0, 1, 1, 1}), {"length 0", "row 0", "1..3"}},
      {"length", raw_tensor("I32", {4}, Ints{4, 1, 1, 1}), {"length 4", "1..3"}},
      {"length", {}, {"length", "attention_mask [4, 3]"}},
      {"input_ids", raw_tensor("F32", {4, 3}, std::vector<float>(12)), {"input_ids", "F32", "I32"}},
      {"input_ids", raw_tensor("I32", {4, 3}, Ints(12, 200)), {"row 0", "token id 200", "0..199"}},
      {"token_type_ids", raw_tensor("I32", {4, 2}, Ints(8)), {"token_type_ids", "[4, 2]"}},
      {"token_type_ids", raw_tensor("I32", {4, 3}, Ints(12, 2)), {"row 0", "token type 2"}},
      {"label", raw_tensor("I32", {3}, Ints(3)), {"label", "[3]", "4 sequences"}},
      {"label", raw_tensor("F32", {4}, std::vector<float>(4)), {"label", "F32"}},
      {"score", raw_tensor("I32", {2}, Ints(2)), {"score", "I32", "F32"}}};
  for (const BadTensor& bad : cases) {
    RawTensors data = packed_;
    data[bad.name] = bad.tensor;
    if (bad.tensor.type.empty()) data.erase(bad.name);

    const std::string message = refusal(data, 0, bert_);

    EXPECT_TRUE(test::mentions(message, bad.words));
    EXPECT_TRUE(test::mentions(message, {"data.safetensors"}));
  }
}

/// Two clozes of two candidates each; rows have two or three tokens.
RawTensors clozes() {
  return {{"input_ids", raw_tensor("I32", {4, 3}, Ints{1, 2, 0, 3, 4, 5, 6, 7, 0, 7, 8, 9})},
          {"length", raw_tensor("I32", {4}, Ints{2, 3, 2, 3})},
          {"candidate_begin", raw_tensor("I32", {4}, Ints{1, 1, 1, 2})},
          {"label", raw_tensor("I32", {2}, Ints{0, 1})}};
}

TEST_F(LoadSample, ClozesHaveASequenceForEachCandidate) {
  RawTensors data = clozes();

  const Sample first = load(data, 0, gpt2_), second = load(data, 1, gpt2_);
  data["candidate_end"] = raw_tensor("I32", {4}, Ints{2, 2, 2, 3});
  const Sample cut = load(data, 0, gpt2_);

  ASSERT_EQ(second.sequences.size(), 2U);
  EXPECT_EQ(second.sequences[1].ids, (Ints{7, 8, 9}));
  EXPECT_EQ(second.label, 1);
  ASSERT_EQ(first.candidates.size(), 2U);
  EXPECT_EQ(first.candidates[1].begin, 1);
  EXPECT_EQ(first.candidates[1].end, 3);  // to the end of the sequence
  EXPECT_EQ(cut.candidates[1].end, 2);
  EXPECT_TRUE(load(packed_, 0, gpt2_).candidates.empty());
}

TEST_F(LoadSample, ImpossibleClozesAreNamed) {
  const BadTensor cases[] = {
      {"label", raw_tensor("I32", {3}, Ints(3)), {"label is [3]", "4 sequences", "candidates"}},
      {"label", raw_tensor("I32", {4}, Ints(4)), {"label is [4]", "at least two"}},
      {"label", raw_tensor("I32", {0}, Ints{}), {"label is [0]", "4 sequences"}},
      {"label", {}, {"candidate_begin", "label"}},
      {"candidate_begin", raw_tensor("I32", {2}, Ints(2)), {"candidate_begin is [2]", "4 rows"}},
      {"candidate_begin", raw_tensor("I32", {4}, Ints{0, 1, 1, 1}), {"0..2", "row 0"}},
      {"candidate_begin", raw_tensor("I32", {4}, Ints{1, 3, 1, 1}), {"3..3", "row 1"}},
      {"candidate_end", raw_tensor("I32", {4}, Ints{3, 3, 2, 3}), {"1..3", "row 0", "<= 2"}},
      {"candidate_end", raw_tensor("F32", {4}, Ints(4)), {"candidate_end", "F32", "I32"}}};
  for (const BadTensor& bad : cases) {
    RawTensors data = clozes();
    data[bad.name] = bad.tensor;
    if (bad.tensor.type.empty()) data.erase(bad.name);

    const std::string message = refusal(data, 0, gpt2_);

    EXPECT_TRUE(test::mentions(message, bad.words));
    EXPECT_TRUE(test::mentions(message, {"data.safetensors"}));
  }
}

TEST_F(LoadSample, TokensOfLanguageModelsCountTheirBytesAndCharacters) {
  RawTensors data = packed_;
  data["bytes"] = raw_tensor("I32", {4}, Ints{7, 8, 0, 9});
  data["characters"] = raw_tensor("I32", {4}, Ints{5, 6, 0, -1});

  const Sample sample = load(data, 1, gpt2_);

  EXPECT_EQ(sample.bytes, 8);
  EXPECT_EQ(sample.characters, 6);
  EXPECT_FALSE(load(packed_, 1, gpt2_).bytes.has_value());
  EXPECT_FALSE(load(data, 1, bert_).bytes.has_value());  // not a tensor of BERT's
  EXPECT_TRUE(test::mentions(refusal(data, 3, gpt2_), {"characters is -1", "sample 3"}));
  data["bytes"] = raw_tensor("I32", {3}, Ints(3));
  EXPECT_TRUE(test::mentions(refusal(data, 0, gpt2_), {"bytes is [3]", "4 samples"}));
}

/// Forms of every kind behind one open file.
class OpenDataFile : public LoadSample {
 protected:
  DataFile open(const RawTensors& tensors, const model::ModelConfig& config,
                Index window = 0) const {
    test::write_raw(folder_ / "data.safetensors", tensors);
    return {folder_ / "data.safetensors", config, preprocessing_for(config, {}), window};
  }
};

TEST_F(OpenDataFile, CountsItsSamplesAndTheirTokens) {
  RawTensors pairs = packed_, padded = packed_;
  pairs["score"] = raw_tensor("F32", {2}, std::vector<float>{1, 2});
  padded.erase("length");
  padded["attention_mask"] = raw_tensor("I32", {4, 3}, Ints(12, 1));
  const RawTensors pictures = {
      {"image", raw_tensor("U8", {2, 32, 32, 3}, std::vector<std::uint8_t>(6144))}};
  const RawTensors bytes = {{"valid", raw_tensor("U8", {20}, std::vector<std::uint8_t>(20))}};
  const RawTensors ready = {{"input", raw_tensor("I32", {5}, Ints(5))}};
  struct Case {
    const RawTensors& tensors;
    const model::ModelConfig& config;
    Index window, samples;
    std::vector<Index> tokens;  ///< of sample samples - 1
  };
  const RawTensors cloze = clozes();
  const Case cases[] = {{packed_, bert_, 0, 4, {3}},
                        {pairs, bert_, 0, 2, {1, 3}},
                        {padded, bert_, 0, 4, {3}},
                        {cloze, gpt2_, 0, 2, {2, 3}},
                        {pictures, vit_, 0, 2, {vit_.tokens}},
                        {bytes, gpt2_, 6, 3, {6}},
                        {ready, gpt2_, 0, 1, {5}}};
  for (const Case& c : cases) {
    const DataFile file = open(c.tensors, c.config, c.window);

    EXPECT_EQ(file.samples(), c.samples);
    EXPECT_EQ(file.tokens_of(c.samples - 1), c.tokens);
    const Sample last = file.load(c.samples - 1);
    for (std::size_t s = 0; s < last.sequences.size(); ++s)
      EXPECT_EQ(last.sequences[s].tokens(c.config), c.tokens[s]);
    EXPECT_TRUE(test::mentions(test::input_error([&] { file.tokens_of(c.samples); }),
                               {"data.safetensors", "sample"}));
    EXPECT_TRUE(test::mentions(test::input_error([&] { file.load(-1); }), {"sample -1"}));
  }
}

TEST_F(OpenDataFile, AnEmptyOneHasNoSamples) {
  const RawTensors none = {{"input_ids", raw_tensor("I32", {0, 3}, Ints{})},
                           {"length", raw_tensor("I32", {0}, Ints{})}};

  const DataFile file = open(none, bert_);

  EXPECT_EQ(file.samples(), 0);
  EXPECT_TRUE(test::mentions(test::input_error([&] { file.load(0); }), {"sample 0 of 0"}));
}

TEST_F(OpenDataFile, FingerprintSeesEveryTensorAndValue) {
  const std::string before = open(packed_, bert_).fingerprint();
  RawTensors value = packed_, name = packed_;
  value.at("length").bytes[4] ^= std::byte{2};
  name["line"] = raw_tensor("I32", {4}, Ints{1, 2, 3, 4});
  const auto picture = std::filesystem::path(THINWIRE_TEST_DATA) / "pictures" / "noise_37x23.png";

  EXPECT_EQ(before.size(), 16U);
  EXPECT_EQ(before, open(packed_, gpt2_).fingerprint());
  EXPECT_NE(before, open(value, bert_).fingerprint());
  EXPECT_NE(before, open(name, bert_).fingerprint());
  EXPECT_EQ(DataFile(picture, vit_, {}).fingerprint().size(), 16U);
}

TEST_F(LoadSample, MisshapenPicturesAreNamed) {
  const auto bytes = std::vector<std::uint8_t>(3072);
  const RawTensors planes = {{"image", raw_tensor("U8", {1, 3, 32, 32}, bytes)}};
  const RawTensors labels = {{"image", raw_tensor("U8", {1, 32, 32, 3}, bytes)},
                             {"label", raw_tensor("I32", {2}, Ints{0, 1})}};
  const RawTensors ready = {{"input", raw_tensor("F32", {3, 2, 2}, std::vector<float>(12))}};

  EXPECT_TRUE(
      test::mentions(refusal(planes, 0, vit_), {"image", "[1, 3, 32, 32]", "height, width, 3"}));
  EXPECT_TRUE(test::mentions(refusal(labels, 0, vit_), {"label", "[2]", "1 pictures"}));
  EXPECT_TRUE(test::mentions(refusal(ready, 0, vit_), {"input", "[3, 2, 2]", "[3, 32, 32]"}));
}

TEST_F(LoadSample, AFileThatIsNotThereIsNamed) {
  EXPECT_TRUE(
      test::mentions(test::input_error([&] { load_sample("no/such.safetensors", 0, vit_, {}); }),
                     {"no/such.safetensors"}));
}

}  // namespace
}  // namespace thinwire::eval
