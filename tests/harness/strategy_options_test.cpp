// Options that concern single strategies: who takes them, what they become.
#include <gtest/gtest.h>

#include "support/messages.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/harness/check_spec.hpp"
#include "thinwire/harness/expand.hpp"
#include "thinwire/harness/run_spec.hpp"

namespace thinwire::harness {
namespace {

using test::mentions;
using test::message_of;

std::string refusal(const KeyValues& given) {
  return message_of([&] { make_run_spec(given); });
}

std::string refusal_with_model(const KeyValues& given) {
  return message_of([&] {
    const RunSpec spec = make_run_spec(given);
    const model::ModelConfig config = model::preset(spec.model);
    check_options(spec, &config);
  });
}

KeyValues of(const char* strategy, std::initializer_list<KeyValues::value_type> more = {}) {
  KeyValues given{{"strategy", strategy}, {"devices", "2"}};
  given.insert(given.end(), more);
  return given;
}

TEST(StrategyOptions, AreRefusedWhereNothingReadsThem) {
  using Case = std::pair<KeyValues, const char*>;
  for (const auto& [given, expected] : {
           Case{of("voltage", {{"groups", "2"}}), "--groups=2 with --strategy=voltage: only astra"},
           Case{of("trace-b", {{"index-bits", "packed"}}), "--index-bits=packed"},
           Case{of("trace-b", {{"class-token", "replicated"}}), "only astra"},
           Case{of("voltage", {{"codebook", "random"}}), "only astra and trace have codebooks"},
           Case{of("tensor", {{"codewords", "64"}}), "--codewords=64"},
           Case{of("voltage", {{"level", "1"}}), "--level=1"},
           Case{of("pipeline", {{"active-codewords", "8"}}), "--active-codewords=8"},
           Case{of("trace-nb", {{"buffers", "off"}}), "only trace-b and trace-2a"},
           Case{of("astra", {{"buffers", "hidden"}}), "--buffers=hidden"},
           Case{of("tensor", {{"overlap", "on"}}), "--overlap=on"},
           Case{of("voltage", {{"micro-batches", "4"}}), "only pipeline"},
           Case{of("trace-nb", {{"payload", "int8"}}), "only voltage and prism"},
           Case{of("tensor", {{"payload", "fp16"}}), "--payload=fp16"},
           Case{of("voltage", {{"collect", "all"}}), "--io=terminal"},
       })
    EXPECT_TRUE(mentions(refusal(given), {expected}));
}

TEST(StrategyOptions, HaveValuesThatMakeSense) {
  using Case = std::pair<KeyValues, std::vector<std::string>>;
  for (const auto& [given, expected] : {
           Case{of("astra", {{"groups", "0"}}), {"--groups=0"}},
           Case{of("astra", {{"index-bits", "10"}}), {"--index-bits=10", "packed"}},
           Case{of("trace-b", {{"codewords", "1"}}), {"--codewords=1", "2 to 65536"}},
           Case{of("trace-b", {{"codewords", "65537"}}), {"--codewords=65537"}},
           Case{of("trace-b", {{"level", "5"}}), {"--level=5", "0", "to 4"}},
           Case{of("trace-b", {{"level", "-1"}}), {"--level=-1"}},
           Case{of("trace-b", {{"active-codewords", "16"}}), {"16", "2, 4, 8, 32, 1024"}},
           Case{of("trace-b", {{"level", "1"}, {"active-codewords", "8"}}), {"give one"}},
           Case{of("trace-b", {{"buffers", "kw"}}), {"--buffers=kw", "kv"}},
           Case{of("trace-b", {{"overlap", "maybe"}}), {"--overlap=maybe", "on or off"}},
           Case{of("pipeline", {{"micro-batches", "0"}}), {"--micro-batches=0"}},
           Case{of("voltage", {{"io", "remote"}}), {"--io=remote", "terminal"}},
           Case{of("voltage", {{"payload", "int4"}}), {"--payload=int4", "int8"}},
       }) {
    const std::string message = refusal(given);
    for (const std::string& fragment : expected)
      EXPECT_NE(message.find(fragment), std::string::npos) << message << " lacks " << fragment;
  }
}

TEST(StrategyOptions, FitTheModel) {
  EXPECT_TRUE(mentions(refusal_with_model(of("astra", {{"groups", "5"}})), {"--groups=5", "768"}));
  EXPECT_EQ(refusal_with_model(of("astra", {{"groups", "16"}})), "");
  EXPECT_TRUE(mentions(
      refusal_with_model(of("astra", {{"class-token", "replicated"}, {"model", "bert-base"}})),
      {"--class-token=replicated", "bert-base"}));
  EXPECT_TRUE(mentions(refusal_with_model(of("voltage", {{"io", "terminal"}, {"collect", "all"}})),
                       {"--collect=all", "vit-base-16"}));
  EXPECT_EQ(refusal_with_model(
                of("voltage", {{"io", "terminal"}, {"collect", "all"}, {"model", "gpt2"}})),
            "");
}

TEST(StrategyOptions, DivideHeadsAndBlocksOverDevices) {
  const model::ModelConfig config = model::preset("vit-base-16");
  for (const char* strategy : {"tensor", "pipeline"}) {
    RunSpec spec = make_run_spec(of(strategy));
    EXPECT_EQ(misfit(spec, config, 197), std::nullopt) << strategy;

    spec.devices = 13;

    EXPECT_TRUE(mentions(misfit(spec, config, 197).value_or(""), {"--devices=13", "12"}));
  }
}

TEST(StrategyOptions, OfRandomCodebooksAreCompleted) {
  const RunSpec trace = make_run_spec(of("trace-b"));
  EXPECT_EQ(trace.codewords, 1024);
  EXPECT_EQ(trace.level, 4);
  EXPECT_EQ(trace.active_codewords, 1024);

  EXPECT_EQ(make_run_spec(of("trace-b", {{"level", "1"}})).active_codewords, 4);
  EXPECT_EQ(make_run_spec(of("trace-nb", {{"active-codewords", "32"}})).level, 3);
  EXPECT_EQ(make_run_spec(of("trace-b", {{"codewords", "16"}})).level, 3);  // 2, 4, 8, 16

  const RunSpec astra = make_run_spec(of("astra", {{"codewords", "512"}}));
  EXPECT_EQ(astra.active_codewords, 512);  // it searches all
  EXPECT_EQ(astra.level, 0);
}

TEST(StrategyOptions, AreRecordedAsTheyAre) {
  const Json trace = to_json(make_run_spec(of("trace-b")));
  EXPECT_EQ(trace["codebook"], "random");
  EXPECT_EQ(trace["codewords"], 1024);
  EXPECT_EQ(trace["buffers"], "kv");
  EXPECT_EQ(trace["overlap"], true);
  EXPECT_TRUE(trace["groups"].is_null());

  const Json voltage = to_json(make_run_spec(of("voltage")));
  EXPECT_EQ(voltage["overlap"], false);
  EXPECT_EQ(voltage["io"], "replicated");
  for (const char* key : {"groups", "index-bits", "class-token", "codebook", "codewords", "level",
                          "active-codewords", "buffers", "micro-batches", "collect"})
    EXPECT_TRUE(voltage[key].is_null()) << key;
}

TEST(StrategyOptions, PayloadsAreNamedWhereTheyAreReduced) {
  EXPECT_EQ(to_json(make_run_spec(of("voltage", {{"payload", "int8"}})))["payload"], "int8");
  EXPECT_FALSE(to_json(make_run_spec(of("voltage"))).contains("payload"));
  EXPECT_FALSE(to_json(make_run_spec(of("voltage", {{"payload", "fp32"}}))).contains("payload"));
}

TEST(StrategyOptions, AreReadBackFromARecord) {
  for (const KeyValues& given :
       {of("trace-b", {{"level", "2"}, {"buffers", "hidden"}, {"overlap", "off"}}),
        of("astra", {{"groups", "16"}, {"index-bits", "packed"}, {"class-token", "replicated"}}),
        of("voltage", {{"payload", "bf16"}}),
        of("pipeline", {{"micro-batches", "4"}, {"io", "terminal"}})}) {
    const Json json = to_json(make_run_spec(given));

    EXPECT_EQ(to_json(run_spec_from_json(json)), json);
  }
}

std::string id_of(const KeyValues& given) {
  return spec_id(make_run_spec(given), "measured", {});
}

TEST(StrategyOptions, IdentifyAPointByWhatTheyMean) {
  EXPECT_EQ(
      id_of(of("trace-b")),
      id_of(
          of("trace-b",
             {{"codewords", "1024"}, {"level", "4"}, {"overlap", "on"}, {"codebook", "random"}})));
  EXPECT_EQ(id_of(of("voltage")), id_of(of("voltage", {{"overlap", "off"}})));
  EXPECT_EQ(id_of(of("voltage")), id_of(of("voltage", {{"payload", "fp32"}})));
  std::set<std::string> ids;
  const std::vector<KeyValues> different{of("trace-b"),
                                         of("trace-b", {{"level", "1"}}),
                                         of("trace-b", {{"codewords", "32"}}),
                                         of("trace-b", {{"overlap", "off"}}),
                                         of("trace-b", {{"buffers", "off"}}),
                                         of("trace-b", {{"io", "terminal"}}),
                                         of("voltage"),
                                         of("voltage", {{"overlap", "on"}}),
                                         of("voltage", {{"payload", "fp16"}}),
                                         of("voltage", {{"payload", "int8"}}),
                                         of("voltage", {{"io", "terminal"}})};
  for (const KeyValues& given : different) ids.insert(id_of(given));
  EXPECT_EQ(ids.size(), different.size());
}

TEST(StrategyOptions, OfAFileAreIdentifiedByItsContents) {
  RunSpec spec = make_run_spec(of("trace-b"));
  spec.codebook = "vit.safetensors";

  EXPECT_NE(spec_id(spec, "measured", {.codebook = "a"}),
            spec_id(spec, "measured", {.codebook = "b"}));
}

TEST(StrategyOptions, SpreadOverPoints) {
  EXPECT_EQ(expand({{"strategy", "trace-b,trace-nb"}, {"devices", "2"}, {"level", "0..4"}}).size(),
            10U);
  EXPECT_EQ(expand(of("trace-b", {{"buffers", "kv,hidden,off"}, {"overlap", "on,off"}})).size(),
            6U);
}

TEST(StrategyOptions, OfATerminalTakeARankMore) {
  EXPECT_EQ(make_run_spec(of("voltage")).ranks(), 2);
  EXPECT_EQ(make_run_spec(of("voltage", {{"io", "terminal"}})).ranks(), 3);
}

}  // namespace
}  // namespace thinwire::harness
