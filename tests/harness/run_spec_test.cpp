#include "thinwire/harness/run_spec.hpp"
#include "thinwire/base/json.hpp"

#include <gtest/gtest.h>

#include "support/messages.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/harness/check_spec.hpp"

namespace thinwire::harness {
namespace {

using test::mentions;
using test::message_of;

std::string refusal(const KeyValues& given) {
  return message_of([&] { make_run_spec(given); });
}

/// As a run refuses it: with the model at hand.
std::string run_refusal(const KeyValues& given) {
  return message_of([&] {
    const RunSpec spec = make_run_spec(given);
    const model::ModelConfig config = model::preset(spec.model);
    check(spec, &config);
  });
}

TEST(MakeRunSpec, FillsEveryKindOfField) {
  const RunSpec spec = make_run_spec({{"model", "bert-base"},
                                      {"strategy", "prism"},
                                      {"devices", "3"},
                                      {"compression-rate", "2.5"},
                                      {"slowness", "1,1,2.5"},
                                      {"device-gflops", "160"},
                                      {"memory", "1GB"},
                                      {"rate", "10Mbps,10Mbps:10Mbps:1Mbps"},
                                      {"latency", "0,2ms"},
                                      {"clock", "modelled"},
                                      {"cold-weights", ""},
                                      {"timeout", "30s"}});

  EXPECT_EQ(spec.model, "bert-base");
  EXPECT_EQ(spec.devices, 3);
  EXPECT_EQ(spec.compression_rate, 2.5);
  EXPECT_FALSE(spec.segments.has_value());
  EXPECT_EQ(spec.slowness, (std::vector<double>{1, 1, 2.5}));
  EXPECT_EQ(spec.flops_per_s_per_device(), (std::vector<double>{160e9, 160e9, 160e9}));
  EXPECT_EQ(spec.memory_per_device().size(), 3U);
  EXPECT_TRUE(spec.cold_weights);
  EXPECT_EQ(spec.timeout, Seconds(30));
  ASSERT_EQ(spec.links().size(), 4U);
  EXPECT_EQ(spec.links()[1].rates.size(), 3U);
  EXPECT_EQ(spec.links()[2].latency, Seconds(0.002));
}

TEST(MakeRunSpec, SpreadsRangesOfRatesOverLinkSettings) {
  const RunSpec spec = make_run_spec({{"rate", "1Mbps..1000Mbps:log:4,100Mbps..300Mbps:lin:3"}});

  const std::vector<double> expected{1e6, 1e7, 1e8, 1e9, 1e8, 2e8, 3e8};
  ASSERT_EQ(spec.rate.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(spec.rate[i].front().bit_per_s(), expected[i]);
}

TEST(MakeRunSpec, ChoosesAStrategyForSeveralDevices) {
  EXPECT_EQ(make_run_spec({}).strategy, "single");
  EXPECT_EQ(make_run_spec({{"devices", "3"}}).strategy, "voltage");
  EXPECT_EQ(make_run_spec({{"devices", "3"}, {"segments", "5"}}).strategy, "prism");
}

TEST(MakeRunSpec, SaysWhichOptionAndValueIsWrongAndWhatWouldBeRight) {
  EXPECT_TRUE(mentions(refusal({{"rate", "0Mbps"}}), {"--rate=0Mbps", "positive", "10Mbps"}));
  EXPECT_TRUE(mentions(refusal({{"rate", "-1Mbps"}}), {"--rate=-1Mbps", "positive"}));
  EXPECT_TRUE(mentions(refusal({{"rate", "10"}}), {"--rate=10", "unit"}));
  EXPECT_TRUE(mentions(refusal({{"threads", "0"}}), {"--threads=0", "at least one"}));
  EXPECT_TRUE(mentions(refusal({{"devices", "two"}}), {"--devices=two", "whole number"}));
  EXPECT_TRUE(mentions(refusal({{"devices", "0"}}), {"--devices=0"}));
  EXPECT_TRUE(mentions(refusal({{"devices", "99999999999"}}), {"--devices=99999999999"}));
  EXPECT_TRUE(mentions(refusal({{"latency", "2"}}), {"--latency=2", "unit"}));
  EXPECT_TRUE(mentions(refusal({{"topology", "ring"}}), {"--topology=ring", "unicast"}));
  EXPECT_TRUE(mentions(refusal({{"slowness", "1,x"}, {"devices", "2"}}),
                       {"--slowness=1,x", "not a number"}));
  EXPECT_TRUE(mentions(refusal({{"json", ""}}), {"--json=", "FILE"}));
  EXPECT_TRUE(mentions(refusal({{"rate", "1Mbps..10Mbps"}}), {"1Mbps..10Mbps:log:10"}));
}

TEST(MakeRunSpec, SuggestsANameForAnUnknownOne) {
  EXPECT_TRUE(mentions(refusal({{"segmets", "3"}}), {"'segmets'", "segments?"}));
  EXPECT_TRUE(
      mentions(refusal({{"strategy", "prisma"}}), {"--strategy=prisma", "did you mean prism?"}));
  EXPECT_TRUE(mentions(refusal({{"model", "vit-bas-16"}}),
                       {"--model=vit-bas-16", "did you mean vit-base-16?"}));
}

TEST(MakeRunSpec, RefusesCombinationsThatMeanNothing) {
  using Case = std::pair<KeyValues, const char*>;
  const KeyValues prism{{"strategy", "prism"}, {"devices", "2"}};
  const auto with = [](KeyValues base, std::initializer_list<KeyValues::value_type> more) {
    base.insert(base.end(), more);
    return base;
  };
  for (const auto& [given, expected] : {
           Case{prism, "--segments"},
           Case{with(prism, {{"segments", "0"}}), "--segments=0"},
           Case{with(prism, {{"segments", "3"}, {"compression-rate", "4"}}), "give one"},
           Case{with(prism, {{"compression-rate", "0.5"}}), "--compression-rate=0.5"},
           Case{{{"strategy", "voltage"}, {"devices", "2"}, {"segments", "3"}}, "only prism"},
           Case{{{"strategy", "voltage"}, {"devices", "2"}, {"scaling", "off"}}, "--scaling=off"},
           Case{{{"strategy", "single"}, {"devices", "2"}}, "--devices=2"},
           Case{{{"devices", "3"}, {"slowness", "1,2"}}, "2 values for --devices=3"},
           Case{{{"slowness", "0"}}, "--slowness=0"},
           Case{{{"memory", "0B"}}, "--memory=0"},
           Case{{{"devices", "3"}, {"rate", "1Mbps:2Mbps"}}, "2 rates for --devices=3"},
           Case{{{"clock", "modelled"}}, "--device-gflops"},
           Case{{{"clock", "throttled"}, {"rate", "1Mbps,2Mbps"}}, "2 link settings"},
           Case{{{"clock", "throttled"}, {"slowness", "2"}}, "--slowness"},
           Case{{{"hidden", "on"}}, "--outputs"},
           Case{{{"iterations", "0"}}, "--iterations=0"},
           Case{{{"warmup", "-1"}}, "--warmup=-1"},
           Case{{{"sample", "-1"}}, "--sample=-1"},
       })
    EXPECT_TRUE(mentions(refusal(given), {expected}));
}

TEST(Check, NamesBothNumbersWhenAConfigurationDoesNotFit) {
  EXPECT_TRUE(mentions(run_refusal({{"devices", "198"}}), {"--devices=198", "197"}));
  EXPECT_TRUE(mentions(run_refusal({{"devices", "2"}, {"segments", "99"}}),
                       {"--segments=99", "98 of 197"}));
  EXPECT_EQ(run_refusal({{"devices", "2"}, {"segments", "98"}}), "");
  EXPECT_TRUE(mentions(run_refusal({{"tokens", "100"}}), {"--tokens=100", "197"}));
  EXPECT_EQ(run_refusal({{"tokens", "197"}}), "");
  EXPECT_EQ(run_refusal({{"model", "bert-base"}, {"tokens", "1024"}}), "");  // random weights
  EXPECT_TRUE(mentions(run_refusal({{"memory", "10MB"}}), {"--memory=10MB", "more"}));
}

TEST(Check, LetsAWeightedPartitionDecideWhoHasFewest) {
  const KeyValues given{{"devices", "2"}, {"segments", "50"}, {"partition", "weighted"}};
  KeyValues slow = given;
  slow.emplace_back("slowness", "1,9");

  EXPECT_EQ(run_refusal(given), "");
  EXPECT_TRUE(mentions(run_refusal(slow), {"device 1 has 20 of 197"}));
}

TEST(RunSpecFromJson, TakesNumbersListsAndTexts) {
  const RunSpec spec = run_spec_from_json(Json::parse(
      R"({"devices": 3, "segments": 4, "slowness": [1, 2, 3], "rate": ["1Mbps", "2Mbps:2Mbps:1Mbps"],
          "cold-weights": true, "memory": null})"));

  EXPECT_EQ(spec.strategy, "prism");
  EXPECT_EQ(spec.slowness, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(spec.rate.size(), 2U);
  EXPECT_TRUE(spec.cold_weights);
}

TEST(RunSpecFromJson, RefusesUnknownKeysAndWrongValues) {
  const auto refuse = [](const char* text) {
    return message_of([&] { run_spec_from_json(Json::parse(text)); });
  };
  EXPECT_TRUE(mentions(refuse(R"({"device": 3})"), {"'device'", "devices?"}));
  EXPECT_TRUE(mentions(refuse(R"({"devices": {}})"), {"--devices"}));
  EXPECT_TRUE(mentions(refuse(R"({"devices": 2.5})"), {"--devices=2.5"}));
  EXPECT_TRUE(mentions(refuse("[]"), {"object"}));
}

TEST(ToJson, OfASpecIsReadBackAsTheSameSpec) {
  const RunSpec spec = make_run_spec({{"devices", "3"},
                                      {"segments", "7"},
                                      {"rate", "1Mbps..1000Mbps:log:10"},
                                      {"latency", "1.7ms"},
                                      {"slowness", "1,1,2.5"},
                                      {"memory", "1.5GiB"},
                                      {"device-gflops", "0.1"}});

  const RunSpec again = run_spec_from_json(to_json(spec));

  EXPECT_EQ(to_json(again), to_json(spec));
  EXPECT_EQ(again.links(), spec.links());
  EXPECT_EQ(again.memory_per_device(), spec.memory_per_device());
}

TEST(ToJson, HasNoPaths) {
  RunSpec spec;
  spec.model = "/home/someone/models/minilm-l6/";
  spec.input = "../data/pair.safetensors";
  spec.outputs = "/tmp/out";
  spec.json = "/tmp/results.jsonl";
  spec.trace = "/tmp/trace.json";

  const Json json = to_json(spec);

  EXPECT_EQ(json["model"], "minilm-l6");
  EXPECT_EQ(json["input"], "pair.safetensors");
  EXPECT_EQ(json.dump().find("/tmp"), std::string::npos);
  EXPECT_EQ(json.dump().find("someone"), std::string::npos);
}

TEST(SpecId, DependsOnWhatTheResultDependsOn) {
  const RunSpec spec = make_run_spec({{"devices", "2"}});
  const std::string id = spec_id(spec, "measured", {});

  EXPECT_EQ(id.size(), 16U);
  EXPECT_EQ(
      spec_id(make_run_spec(
                  {{"devices", "2"}, {"slowness", "1,1"}, {"json", "a.jsonl"}, {"timeout", "5s"}}),
              "measured", {}),
      id);
  EXPECT_NE(spec_id(spec, "predicted", {}), id);
  EXPECT_NE(spec_id(make_run_spec({{"devices", "2"}, {"seed", "1"}}), "measured", {}), id);
  EXPECT_NE(spec_id(make_run_spec({{"devices", "2"}, {"repeat", "1"}}), "measured", {}), id);
}

TEST(SpecId, TellsWhatIsComparedApartFromWhatIsNot) {
  const auto id = [](const KeyValues& given) {
    return spec_id(make_run_spec(given), "measured", {});
  };

  EXPECT_NE(id({{"agreement", "on"}}), id({}));
  EXPECT_NE(id({{"agreement", "off"}}), id({}));
}

TEST(RunSpec, ComparesRealInputAndKeptOutputsWithTheSingleDevice) {
  const auto wants = [](const KeyValues& given) { return make_run_spec(given).wants_agreement(); };

  EXPECT_FALSE(wants({}));
  EXPECT_TRUE(wants({{"agreement", "on"}}));
  EXPECT_TRUE(wants({{"input", "cat.png"}}));
  EXPECT_TRUE(wants({{"outputs", "out.safetensors"}}));
  EXPECT_FALSE(wants({{"input", "cat.png"}, {"agreement", "off"}}));
}

TEST(SpecId, TellsFoldersOfOneNameApartByTheirWeights) {
  RunSpec spec;
  EXPECT_EQ(spec_id(spec, "measured", {.model = "a"}),
            spec_id(spec, "measured", {.model = "b"}));  // a preset

  spec.model = "models/minilm-l6";

  EXPECT_NE(spec_id(spec, "measured", {.model = "a"}), spec_id(spec, "measured", {.model = "b"}));
}

TEST(SpecId, TellsProductsInBf16ApartAndLeavesOldIdsAlone) {
  const auto id = [](const KeyValues& given) {
    return spec_id(make_run_spec(given), "measured", {});
  };

  EXPECT_EQ(id({{"dtype", "fp32"}}), id({}));
  EXPECT_NE(id({{"dtype", "bf16"}}), id({}));
  EXPECT_THROW(make_run_spec({{"dtype", "fp16"}}), InputError);
}

TEST(SpecId, StaysTheSameFromBuildToBuild) {
  // A changed value makes every unfinished sweep of a user start anew.
  EXPECT_EQ(spec_id(RunSpec{}, "measured", {}), "47cfc604bbea5f53");
}

TEST(RunFields, HaveUniqueNamesHelpAndDefaultsThatAreAccepted) {
  std::set<std::string_view> names;
  const RunSpec defaults;
  for (const Field& field : run_fields()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    EXPECT_FALSE(field.help.empty()) << field.name;
    EXPECT_EQ(field.name.find('_'), std::string_view::npos) << field.name;
    EXPECT_NO_THROW(field.to_json(defaults)) << field.name;
  }
  EXPECT_NO_THROW(check_options(defaults));
}

}  // namespace
}  // namespace thinwire::harness
