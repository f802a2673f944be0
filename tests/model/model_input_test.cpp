#include "thinwire/model/model_input.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/messages.hpp"

namespace thinwire::model {
namespace {

ModelConfig small_bert() {
  ModelConfig config = preset("bert-base");
  config.max_tokens = 8;
  config.vocabulary = 10;
  return config;
}

ModelConfig small_vit() {
  ModelConfig config = preset("vit-base-16");
  config.image_size = 32;
  config.tokens = config.max_tokens = 5;
  return config;
}

TEST(CheckInput, AcceptsWhatFits) {
  ModelInput text, picture;
  text.ids = {0, 9, 5};
  text.types = {0, 0, 1};
  text.real = {1, 1, 0};
  picture.pixels.resize(3 * 32 * 32);

  EXPECT_NO_THROW(check_input(text, small_bert()));
  EXPECT_NO_THROW(check_input(picture, small_vit()));
  EXPECT_EQ(text.tokens(small_bert()), 3);
  EXPECT_EQ(picture.tokens(small_vit()), 5);
}

/// `input` with one thing changed is refused with these words.
void expect_refused(const ModelConfig& config, ModelInput input, void (*change)(ModelInput&),
                    std::initializer_list<std::string_view> words) {
  change(input);
  EXPECT_TRUE(test::mentions(test::input_error([&] { check_input(input, config); }), words));
}

TEST(CheckInput, RefusesTextThatDoesNotFit) {
  const ModelConfig bert = small_bert();
  ModelInput text;
  text.ids = {1, 2, 3};

  expect_refused(bert, text, [](auto& t) { t.ids[1] = 10; }, {"token id 10", "position 1", "0..9"});
  expect_refused(bert, text, [](auto& t) { t.ids[2] = -1; }, {"token id -1", "position 2"});
  expect_refused(bert, text, [](auto& t) { t.ids.clear(); }, {"no tokens"});
  expect_refused(bert, text, [](auto& t) { t.ids.assign(9, 0); }, {"9 tokens", "8 positions"});
  expect_refused(bert, text, [](auto& t) { t.types = {0, 0}; }, {"2 token types", "3 tokens"});
  expect_refused(bert, text, [](auto& t) { t.types = {0, 2, 0}; }, {"token type 2", "0..1"});
  expect_refused(bert, text, [](auto& t) { t.real = {1}; }, {"mask of 1", "3 tokens"});
  expect_refused(bert, text, [](auto& t) { t.real = {0, 0, 0}; }, {"no real token"});
  expect_refused(bert, text, [](auto& t) { t.pixels = {0}; }, {"pixels", "token ids"});
}

TEST(CheckInput, RefusesPicturesThatDoNotFit) {
  ModelInput picture;
  picture.pixels.resize(3 * 32 * 32);

  expect_refused(small_vit(), picture, [](auto& p) { p.pixels.pop_back(); }, {"3071", "3072"});
  expect_refused(small_vit(), picture, [](auto& p) { p.ids = {1}; }, {"token ids", "pixels"});
}

TEST(RandomInput, DependsOnTheSeedAlone) {
  const ModelConfig bert = small_bert();

  EXPECT_EQ(random_input(bert, 8, 1).ids, random_input(bert, 8, 1).ids);
  EXPECT_NE(random_input(bert, 8, 1).ids, random_input(bert, 8, 2).ids);
  EXPECT_EQ(random_input(small_vit(), 5, 1).pixels, random_input(small_vit(), 5, 1).pixels);
}

TEST(RandomInput, FitsTheModelAndFillsItsRange) {
  const ModelInput text = random_input(small_bert(), 7, 3);
  const ModelInput picture = random_input(small_vit(), 5, 3);

  EXPECT_EQ(text.ids.size(), 7U);
  EXPECT_NO_THROW(check_input(text, small_bert()));
  EXPECT_NO_THROW(check_input(picture, small_vit()));
  const auto [least, most] = std::ranges::minmax(picture.pixels);
  EXPECT_GE(least, -1.0F);
  EXPECT_LT(least, -0.99F);
  EXPECT_GT(most, 0.99F);
  EXPECT_LT(most, 1.0F);
}

}  // namespace
}  // namespace thinwire::model
