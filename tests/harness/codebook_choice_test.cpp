#include "thinwire/harness/codebook_choice.hpp"

#include <gtest/gtest.h>

#include "support/messages.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/harness/point.hpp"

namespace thinwire::harness {
namespace {

using test::mentions;

const std::string kGolden = std::string(THINWIRE_TEST_DATA) + "/golden/";

KeyValues golden(const char* strategy, std::initializer_list<KeyValues::value_type> more = {}) {
  KeyValues given{{"model", kGolden + "models/vit-tiny"},
                  {"strategy", strategy},
                  {"devices", "2"},
                  {"codebook", kGolden + "vit-tiny.safetensors"}};
  given.insert(given.end(), more);
  return given;
}

std::string refusal(const KeyValues& given) {
  try {
    make_point(make_run_spec(given));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(CodebookChoice, TakesLevelsFromTheFile) {
  const Point point = make_point(make_run_spec(golden("trace-b", {{"level", "1"}})));

  ASSERT_TRUE(point.codebook.has_value());
  EXPECT_EQ(point.codebook->source, "vit-tiny.safetensors");
  EXPECT_EQ(point.codebook->levels, (std::vector<Index>{2, 4, 8, 16}));
  EXPECT_EQ(point.spec.codewords, 16);
  EXPECT_EQ(point.spec.active_codewords, 4);
  EXPECT_EQ(make_point(make_run_spec(golden("trace-b"))).spec.level, 3);
  EXPECT_EQ(make_point(make_run_spec(golden("trace-b", {{"active-codewords", "2"}}))).spec.level,
            0);
}

TEST(CodebookChoice, LeavesALevelOpenThatIsChosenForEveryMessage) {
  const Point point = make_point(make_run_spec(golden("trace-b", {{"level", "adaptive"}})));

  EXPECT_EQ(point.spec.level_control, strategy::LevelControl::adaptive);
  EXPECT_FALSE(point.spec.level.has_value());
  EXPECT_FALSE(point.spec.active_codewords.has_value());
  EXPECT_EQ(point.spec.codewords, 16);
  EXPECT_EQ(to_json(point.spec).at("level"), "adaptive");
  const Point finest = make_point(make_run_spec(golden("trace-b", {{"level", "3"}})));
  EXPECT_EQ(point.predictions.front().payload_bits, finest.predictions.front().payload_bits);
  EXPECT_NE(spec_id(point.spec, "measured", {}), spec_id(finest.spec, "measured", {}));
}

TEST(CodebookChoice, RefusesToChooseWhereThereIsNoChoice) {
  EXPECT_TRUE(mentions(refusal(golden("astra", {{"level", "adaptive"}})),
                       {"--level=adaptive", "--strategy=astra"}));
  EXPECT_TRUE(
      mentions(refusal(golden("trace-b", {{"level", "probing"}, {"active-codewords", "2"}})),
               {"--level=probing", "--active-codewords=2"}));
  EXPECT_TRUE(
      mentions(refusal({{"strategy", "trace-b"}, {"codewords", "2"}, {"level", "adaptive"}}),
               {"--level=adaptive", "one level of 2"}));
  EXPECT_TRUE(mentions(refusal(golden("trace-b", {{"level", "adaptive"}, {"rate", "1Mbps,2Mbps"}})),
                       {"--level=adaptive", "2 link settings"}));
}

TEST(CodebookChoice, KeepsItsFingerprint) {
  const Point first = make_point(make_run_spec(golden("trace-b")));
  const Point other_level = make_point(make_run_spec(golden("trace-b", {{"level", "0"}})));

  EXPECT_EQ(first.codebook->fingerprint, other_level.codebook->fingerprint);
  EXPECT_EQ(first.codebook->fingerprint.size(), 16U);
}

TEST(CodebookChoice, RefusesNumbersThatTheFileContradicts) {
  EXPECT_EQ(refusal(golden("trace-b", {{"codewords", "16"}})), "");
  EXPECT_TRUE(mentions(refusal(golden("trace-b", {{"codewords", "32"}})),
                       {"--codewords=32", "vit-tiny.safetensors", "16"}));
  EXPECT_TRUE(mentions(refusal(golden("trace-b", {{"level", "4"}})), {"--level=4", "to 3"}));
  EXPECT_TRUE(mentions(refusal(golden("trace-b", {{"active-codewords", "32"}})),
                       {"--active-codewords=32", "2, 4, 8, 16"}));
}

TEST(CodebookChoice, NamesTheFileThatDoesNotServe) {
  EXPECT_TRUE(mentions(refusal(golden("astra", {{"groups", "4"}})), {"vit-tiny.safetensors"}));
  EXPECT_EQ(refusal(golden("astra", {{"groups", "3"}})), "");
  EXPECT_TRUE(mentions(
      refusal({{"strategy", "trace-b"}, {"devices", "2"}, {"codebook", "absent.safetensors"}}),
      {"absent.safetensors"}));
}

TEST(CodebookChoice, HasTheSwitchesOfTheSpec) {
  EXPECT_EQ(codebook_use(make_run_spec(golden("trace-b", {{"buffers", "hidden"}})))->buffers,
            compress::Buffers::hidden);
  EXPECT_EQ(codebook_use(make_run_spec(golden("astra", {{"groups", "3"}})))->groups, 3);
  EXPECT_FALSE(codebook_use(make_run_spec({{"devices", "2"}})).has_value());
}

}  // namespace
}  // namespace thinwire::harness
