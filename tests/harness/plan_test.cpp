#include "thinwire/harness/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/messages.hpp"
#include "thinwire/cost/iteration.hpp"
#include "thinwire/harness/expand.hpp"
#include "thinwire/harness/point.hpp"

namespace thinwire::harness {
namespace {

using test::input_error;
using test::mentions;

/// Three devices of 160 GFLOP/s; few candidates, so that a plan takes a moment only.
PlanRequest request(std::initializer_list<KeyValues::value_type> more = {}) {
  PlanRequest request{.given = {{"devices", "3"}, {"device-gflops", "160"}, {"rate", "50Mbps"}}};
  request.given.insert(request.given.end(), more);
  return request;
}

const KeyValues::value_type kFew{"strategy", "single,voltage,prism,trace-b"};
const KeyValues::value_type kOneLevel{"level", "0"}, kOneRate{"segments", "10"};

std::string name_of(const PlanEntry& entry) {
  return entry.options.front().second;
}

const PlanEntry& find(const Plan& plan, std::string_view strategy) {
  return *std::ranges::find(plan.entries, strategy,
                            [](const PlanEntry& entry) { return name_of(entry); });
}

/// The latency that `predict` gives for the options that a plan prints.
double predicted_s(const PlanEntry& entry, const char* rate = nullptr) {
  KeyValues options = run_options(entry.spec);
  for (auto& [name, value] : options)
    if (name == "rate" && rate != nullptr) value = rate;
  const Point point = make_point(make_run_spec(options));
  return cost::iteration_s(cost::modelled_time(point.predictions, point.spec.links().front(),
                                               point.spec.flops_per_s_per_device(),
                                               point.spec.slowness_per_device()));
}

TEST(Plan, SortsWhatPredictSaysOfEachCandidate) {
  const Plan plan = make_plan(request());

  ASSERT_GT(plan.entries.size(), 20U);
  ASSERT_EQ(plan.best(), &plan.entries.front());
  double last_s = 0;
  for (const PlanEntry& entry : plan.entries) {
    SCOPED_TRACE(name_of(entry));
    ASSERT_EQ(entry.excluded, "");
    EXPECT_GE(entry.latency_s, last_s);
    EXPECT_NEAR(predicted_s(entry), entry.latency_s, 1e-12);
    EXPECT_NEAR(entry.compute_s + entry.wait_s, entry.latency_s, 1e-12);
    last_s = entry.latency_s;
  }
}

TEST(Plan, ComparesEveryStrategyUnlessToldOtherwise) {
  const Plan all = make_plan(request());
  for (const char* strategy : {"single", "voltage", "prism", "astra", "trace-b", "trace-nb",
                               "trace-2a", "trace-1b", "tensor", "pipeline"})
    EXPECT_EQ(name_of(find(all, strategy)), strategy);

  const Plan some = make_plan(request({{"strategy", "voltage,prism"}, {"segments", "5,10"}}));
  EXPECT_EQ(some.entries.size(), 3U);
}

TEST(Plan, SingleRunsOnTheFastestDevice) {
  PlanRequest three{.given = {{"device-gflops", "80,160,40"},
                              {"slowness", "1,1.5,1"},
                              {"rate", "1kbps"},
                              {"strategy", "single,voltage"}}};

  const Plan plan = make_plan(three);

  EXPECT_EQ(plan.base.devices, 3);
  EXPECT_EQ(name_of(*plan.best()), "single");
  EXPECT_EQ(plan.best()->device, 1);  // 160 / 1.5
  EXPECT_NEAR(plan.best()->latency_s, predicted_s(*plan.best()), 1e-12);
}

TEST(Plan, UsesTheRateThatAProfileHasAtTheRowsOfEachDevice) {
  PlanRequest two{.given = {{"devices", "2"}, {"strategy", "single,voltage"}, {"rate", "1Gbps"}}};
  DeviceProfile profile{.model = "vit-base-16", .rates = {{1, 10e9}, {197, 206e9}}};
  two.profiles = {profile};

  const Plan plan = make_plan(two);

  const PlanEntry& voltage = find(plan, "voltage");
  for (std::size_t p = 0; p < 2; ++p)
    EXPECT_NEAR(voltage.spec.device_gflops[p], profile.flops_per_s_at(voltage.spec.rows[p]) / 1e9,
                1e-9);
  EXPECT_NEAR(find(plan, "single").spec.device_gflops[0], 206, 1e-9);
}

TEST(Plan, SaysWhyACandidateIsOutOfTheQuestion) {
  PlanRequest tight = request({kFew, kOneLevel, kOneRate});
  tight.max_bits = Bytes(100'000);
  EXPECT_TRUE(mentions(find(make_plan(tight), "voltage").excluded, {"--max-bits=100kB", "MB"}));

  PlanRequest quick = request({kFew, kOneLevel, kOneRate});
  quick.max_latency = Seconds(0.2);
  EXPECT_TRUE(
      mentions(find(make_plan(quick), "single").excluded, {"--max-latency=200ms", "220 ms"}));
  EXPECT_EQ(find(make_plan(quick), "prism").excluded, "");

  PlanRequest exact = request({kFew, kOneLevel, kOneRate});
  exact.is_exact_only = true;
  const Plan plan = make_plan(exact);
  EXPECT_TRUE(mentions(find(plan, "trace-b").excluded, {"--exact"}));
  EXPECT_EQ(find(plan, "voltage").excluded, "");
  EXPECT_EQ(name_of(*plan.best()), "single");
  EXPECT_EQ(name_of(*plan.best_exact()), "single");

  const Plan small = make_plan(request({kFew, kOneLevel, {"segments", "66"}, {"memory", "1MB"}}));
  EXPECT_EQ(small.best(), nullptr);
  EXPECT_TRUE(mentions(find(small, "voltage").excluded, {"--memory=1MB", "needs"}));
  EXPECT_TRUE(mentions(find(small, "prism").excluded, {"--segments=66", "at most 65"}));
}

TEST(Plan, TakesAccuracyFromRecords) {
  const KeyValues prism{{"strategy", "prism"}, {"devices", "3"}, {"segments", "10"}};
  Json record{{"status", "ok"}, {"spec", to_json(make_run_spec(prism))}};
  record["accuracy"] = {{"metric", "top-1"}, {"value", 0.75}};
  PlanRequest floor = request({kFew, kOneLevel, kOneRate});
  floor.records = {record};
  floor.min_accuracy = 0.8;

  const Plan plan = make_plan(floor);

  EXPECT_EQ(find(plan, "prism").accuracy->value, 0.75);
  EXPECT_TRUE(mentions(find(plan, "prism").excluded, {"0.75", "--min-accuracy=0.8"}));
  EXPECT_TRUE(mentions(find(plan, "trace-b").excluded, {"accuracy unknown"}));
  EXPECT_EQ(find(plan, "voltage").excluded, "");

  floor.records[0]["accuracy"]["metric"] = "bits_per_byte";
  EXPECT_EQ(find(make_plan(floor), "prism").excluded, "");
  floor.min_accuracy = 0.7;
  EXPECT_TRUE(
      mentions(find(make_plan(floor), "prism").excluded, {"0.75", "above --min-accuracy=0.7"}));
}

TEST(Plan, ReducesPayloadsOnlyWhereAskedTo) {
  for (const PlanEntry& entry : make_plan(request({kFew, kOneRate, kOneLevel})).entries)
    EXPECT_EQ(entry.spec.payload, compress::RowFormat::fp32);

  const Plan plan = make_plan(request(
      {{"strategy", "single,voltage,prism"}, {"segments", "10"}, {"payload", "fp32,int8"}}));

  EXPECT_EQ(plan.entries.size(), 5U);
  for (const char* strategy : {"voltage", "prism"}) {
    std::vector<const PlanEntry*> found;
    for (const PlanEntry& entry : plan.entries)
      if (entry.spec.strategy == strategy) found.push_back(&entry);
    ASSERT_EQ(found.size(), 2U) << strategy;
    const auto& [int8, fp32] = std::pair(found[0], found[1]);  // fewer bits are faster here
    EXPECT_EQ(int8->spec.payload, compress::RowFormat::int8);
    EXPECT_EQ(int8->options.back(), (KeyValues::value_type{"payload", "int8"}));
    EXPECT_FALSE(int8->is_exact);
    EXPECT_EQ(fp32->is_exact, strategy == std::string_view("voltage"));
    EXPECT_LT(3 * int8->bits, fp32->bits);
  }
}

TEST(Plan, TellsRecordsOfReducedPayloadsFromOthers) {
  Json record{{"status", "ok"}, {"spec", nullptr}};
  record["spec"] = to_json(make_run_spec(
      {{"strategy", "prism"}, {"devices", "3"}, {"segments", "10"}, {"payload", "int8"}}));
  record["accuracy"] = {{"metric", "top-1"}, {"value", 0.75}};
  PlanRequest known =
      request({{"strategy", "prism"}, {"segments", "10"}, {"payload", "fp32,int8"}});
  known.records = {record};

  for (const PlanEntry& entry : make_plan(known).entries)
    EXPECT_EQ(entry.accuracy.has_value(), entry.spec.payload == compress::RowFormat::int8);
}

TEST(Plan, CountsRightAnswersWhereNoAccuracyIsRecorded) {
  const KeyValues prism{{"strategy", "prism"}, {"devices", "3"}, {"segments", "10"}};
  Json record{{"status", "ok"}, {"spec", to_json(make_run_spec(prism))}, {"accuracy", nullptr}};
  record["answer"] = {{"kind", "classes"}, {"label", 3}, {"same_top1", true}};
  record["answer"]["classes"] = {{{"label", 3}}};
  Json wrong = record;
  wrong["answer"]["label"] = 4;
  PlanRequest known = request({{"strategy", "prism"}, kOneRate});
  known.records = {record, wrong, wrong};

  EXPECT_NEAR(make_plan(known).best()->accuracy->value, 1.0 / 3, 1e-12);
  for (Json& each : known.records) each["answer"]["label"] = nullptr;
  EXPECT_EQ(make_plan(known).best()->accuracy->value, 1);  // as the single device
}

/// Candidates that are best one after the other.
PlanRequest flipping() {
  return request({{"strategy", "single,voltage,prism,tensor"}, {"segments", "5,20"}});
}

TEST(Plan, FlipsWhereTheLatenciesAreEqual) {
  const Plan plan = make_plan(flipping());
  for (const auto* choices : {&plan.choices, &plan.exact_choices}) {
    ASSERT_GE(choices->size(), 2U);
    EXPECT_EQ(choices->front().from.bit_per_s(), 1e5);
    EXPECT_EQ(choices->back().to.bit_per_s(), 1e10);
    for (std::size_t i = 1; i < choices->size(); ++i) {
      const PlanChoice &before = choices->at(i - 1), &after = choices->at(i);
      EXPECT_EQ(before.to, after.from);
      const std::string rate = fmt::format("{}bit/s", std::llround(after.from.bit_per_s()));
      const double lower_s = predicted_s(plan.entries[*before.entry], rate.c_str());
      const double upper_s = predicted_s(plan.entries[*after.entry], rate.c_str());
      EXPECT_NEAR(lower_s, upper_s, 1e-3 * lower_s) << rate;
    }
  }
}

TEST(Plan, ChoosesTheBestAtEveryRate) {
  const Plan plan = make_plan(flipping());
  for (const PlanChoice& choice : plan.choices) {
    const double middle = std::sqrt(choice.from.bit_per_s() * choice.to.bit_per_s());
    const std::string rate = fmt::format("{}bit/s", std::llround(middle));
    const double chosen_s = predicted_s(plan.entries[*choice.entry], rate.c_str());
    for (const PlanEntry& entry : plan.entries)
      EXPECT_LE(chosen_s, predicted_s(entry, rate.c_str()) * (1 + 1e-9))
          << name_of(entry) << " at " << rate;
  }
}

TEST(Plan, ChoosesAmongExactStrategiesBesideAll) {
  const Plan plan = make_plan(flipping());

  ASSERT_GE(plan.exact_choices.size(), 2U);
  EXPECT_EQ(name_of(plan.entries[*plan.exact_choices.front().entry]), "single");
  for (const PlanChoice& choice : plan.exact_choices)
    EXPECT_TRUE(plan.entries[*choice.entry].is_exact);
}

TEST(Plan, PutsTheObjectiveFirst) {
  PlanRequest few_bits = request({kFew, kOneRate, kOneLevel});
  few_bits.objective = Objective::bits;
  EXPECT_EQ(name_of(*make_plan(few_bits).best()), "single");

  PlanRequest energy = request({kFew,
                                kOneRate,
                                kOneLevel,
                                {"device-power", "6"},
                                {"idle-power", "2"},
                                {"radio-power", "1"}});
  energy.objective = Objective::energy;
  const Plan plan = make_plan(energy);
  EXPECT_TRUE(std::ranges::is_sorted(plan.entries, {}, &PlanEntry::energy_j));
  const PlanEntry& single = find(plan, "single");
  EXPECT_NEAR(single.energy_j, 6 * single.latency_s, 1e-12);
}

TEST(Plan, AsksForWhatItNeedsToKnow) {
  const auto refusal = [](PlanRequest asked) { return input_error([&] { make_plan(asked); }); };
  EXPECT_TRUE(mentions(refusal({}), {"--devices", "--device-gflops=160,80"}));
  EXPECT_TRUE(mentions(refusal({.given = {{"devices", "2"}}}), {"--device-gflops", "--profile"}));
  EXPECT_TRUE(mentions(refusal({.given = {{"devices", "2,3"}}}), {"--devices=2,3"}));
  EXPECT_TRUE(mentions(refusal(request({{"latency", "1ms,2ms"}})), {"one link", "--rate-range"}));

  PlanRequest energy = request();
  energy.objective = Objective::energy;
  EXPECT_TRUE(mentions(refusal(energy), {"--objective=energy", "--device-power"}));
  PlanRequest floor = request();
  floor.min_accuracy = 0.8;
  EXPECT_TRUE(mentions(refusal(floor), {"--min-accuracy=0.8", "--records"}));
  PlanRequest other{.given = {{"devices", "2"}, {"model", "gpt2"}}};
  other.profiles = {{.model = "vit-base-16", .rates = {{1, 1e9}}}};
  EXPECT_TRUE(mentions(refusal(other), {"vit-base-16", "calibrate --model gpt2"}));
}

TEST(Plan, ACandidateThatCannotBeSetUpIsExcludedWithTheReason) {
  const Plan plan = make_plan(request({{"strategy", "trace-b,voltage"}, {"level", "9"}}));

  EXPECT_EQ(name_of(*plan.best()), "voltage");
  EXPECT_TRUE(mentions(find(plan, "trace-b").excluded, {"--level=9"}));
}

}  // namespace
}  // namespace thinwire::harness
