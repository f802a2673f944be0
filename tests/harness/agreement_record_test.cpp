#include "thinwire/harness/agreement_record.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "support/messages.hpp"
#include "thinwire/base/json.hpp"

namespace thinwire::harness {
namespace {

Matrix<float> matrix(std::initializer_list<std::initializer_list<float>> rows) {
  Matrix<float> values(std::ssize(rows), std::ssize(*rows.begin()));
  Index r = 0;
  for (const auto& row : rows) std::ranges::copy(row, values.view().row(r++).begin());
  return values;
}

/// One hidden state after the embedding, one after the only block.
Capture capture(Matrix<float> values, Matrix<float> embedded, Matrix<float> last) {
  Capture made{.values = std::move(values), .hidden = {}, .indices = {}};
  made.hidden.push_back(std::move(embedded));
  made.hidden.push_back(std::move(last));
  return made;
}

Point point(model::HeadKind head, const KeyValues& given, int sequences = 1) {
  Point made;
  made.spec = make_run_spec(given);
  made.config.head = head;
  made.sample.sequences.resize(static_cast<std::size_t>(sequences));
  for (model::ModelInput& sequence : made.sample.sequences) sequence.ids = {1, 2};
  return made;
}

TEST(AgreementRecord, SaysHowFarOutputsAndEveryHiddenStateAre) {
  const Point prism = point(model::HeadKind::class_token, {{"devices", "2"}, {"segments", "1"}});
  const Capture ours =
      capture(matrix({{1, 2}}), matrix({{1, 0}, {0, 2}}), matrix({{1, 1}, {2, 0}}));
  const Capture alone =
      capture(matrix({{2, 1}}), matrix({{1, 0}, {0, 2}}), matrix({{1, 0}, {2, 0}}));

  const Json record = agreement_record(prism, {&ours, 1}, {&alone, 1});

  EXPECT_EQ(record["rows"], 1);
  EXPECT_EQ(record["top1"], 0);
  EXPECT_NEAR(record["kl_divergence"].get<double>(), 2 / (1 + std::exp(-1.0)) - 1, 1e-7);
  EXPECT_NEAR(record["output_cosine"].get<double>(), 0.8, 1e-7);
  EXPECT_EQ(record["largest_relative_difference"], 0.5);
  ASSERT_EQ(record["hidden_cosine"].size(), 2U);
  EXPECT_NEAR(record["hidden_cosine"][0].get<double>(), 1, 1e-12);
  EXPECT_NEAR(record["hidden_cosine"][1].get<double>(), (1 + std::sqrt(0.5)) / 2, 1e-7);
}

TEST(AgreementRecord, OnlyTellsExactStrategiesWhatTheyBreak) {
  const Capture ours =
      capture(matrix({{1, 2}}), matrix({{1, 0}, {0, 2}}), matrix({{1, 1}, {2, 0}}));
  const Capture alone =
      capture(matrix({{2, 1}}), matrix({{1, 0}, {0, 2}}), matrix({{1, 0}, {2, 0}}));
  const auto record = [&](const Capture& split, const KeyValues& given) {
    return agreement_record(point(model::HeadKind::class_token, given), {&split, 1}, {&alone, 1});
  };

  const Json wrong = record(ours, {{"devices", "2"}, {"strategy", "voltage"}});
  const Json right = record(alone, {{"devices", "2"}, {"strategy", "voltage"}});
  const Json codes = record(ours, {{"devices", "2"}, {"strategy", "trace-b"}});

  EXPECT_EQ(wrong["exact"], false);
  EXPECT_EQ(wrong["broken"].size(), 3U);  // difference, cosine, top-1
  EXPECT_EQ(right["exact"], true);
  EXPECT_TRUE(right["broken"].empty());
  EXPECT_TRUE(codes["exact"].is_null());
  EXPECT_TRUE(codes["broken"].empty());
}

TEST(AgreementRecord, ATerminalsLastRowIsComparedWithTheLastRow) {
  const Point last = point(model::HeadKind::language_model, {{"devices", "2"}});
  const auto with = [](Matrix<float> values) {
    return capture(std::move(values), matrix({{1, 0}, {0, 2}}), matrix({{1, 0}, {0, 2}}));
  };
  const Capture ours = with(matrix({{0, 5}})), alone = with(matrix({{7, 1}, {0, 5}}));

  const Json record = agreement_record(last, {&ours, 1}, {&alone, 1});

  EXPECT_EQ(record["rows"], 1);
  EXPECT_EQ(record["top1"], 1);
  EXPECT_EQ(record["largest_relative_difference"], 0);
}

TEST(AgreementRecord, APairsCosineHasABoundOfItsOwn) {
  const Point pair = point(model::HeadKind::mean_pooling, {{"devices", "2"}}, 2);
  const auto embedding = [](float x, float y) {
    return capture(matrix({{x, y}}), matrix({{1, 0}, {0, 2}}), matrix({{1, 0}, {0, 2}}));
  };
  std::vector<Capture> ours, alone;
  alone.push_back(embedding(1, 0));
  alone.push_back(embedding(0, 1));
  ours.push_back(embedding(1, 5e-5F));  // each within its bounds, turned to one another
  ours.push_back(embedding(5e-5F, 1));

  const Json record = agreement_record(pair, ours, alone);

  EXPECT_TRUE(record["top1"].is_null());
  EXPECT_TRUE(record["kl_divergence"].is_null());
  EXPECT_EQ(record["exact"], false);
  ASSERT_EQ(record["broken"].size(), 1U);
  EXPECT_TRUE(test::mentions(record["broken"][0], {"pair", "0.0001000", "0.0000000"}));
}

TEST(AgreementRecord, NotANumberIsNullAndNotExact) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Point voltage = point(model::HeadKind::class_token, {{"devices", "2"}});
  const Capture ours =
      capture(matrix({{nan, 2}}), matrix({{1, 0}, {0, 2}}), matrix({{nan, 0}, {2, 0}}));
  const Capture alone =
      capture(matrix({{2, 1}}), matrix({{1, 0}, {0, 2}}), matrix({{1, 0}, {2, 0}}));

  const Json record = agreement_record(voltage, {&ours, 1}, {&alone, 1});

  EXPECT_TRUE(record["largest_relative_difference"].is_null());
  EXPECT_TRUE(record["hidden_cosine"][1].is_null());
  EXPECT_EQ(record["exact"], false);
}

TEST(IsExact, OfStrategiesAndSizes) {
  const auto exact = [](const KeyValues& given, Index tokens) {
    return is_exact(make_run_spec(given), tokens);
  };

  for (const char* strategy : {"voltage", "tensor", "pipeline"})
    EXPECT_TRUE(exact({{"strategy", strategy}, {"devices", "3"}}, 10)) << strategy;
  for (const char* strategy : {"astra", "trace-b", "trace-nb"}) {
    EXPECT_FALSE(exact({{"strategy", strategy}, {"devices", "3"}}, 10)) << strategy;
    EXPECT_TRUE(exact({{"strategy", strategy}, {"devices", "1"}}, 10)) << strategy;
  }
  const KeyValues prism{{"strategy", "prism"}, {"devices", "3"}, {"segments", "4"}};
  EXPECT_TRUE(exact(prism, 12));   // a segment a token
  EXPECT_FALSE(exact(prism, 13));  // the last device has five tokens
  EXPECT_FALSE(exact(prism, 24));
  EXPECT_TRUE(exact({{"strategy", "prism"}, {"devices", "3"}, {"compression-rate", "1"}}, 12));
  for (const char* payload : {"fp16", "bf16", "int8"}) {
    EXPECT_FALSE(exact({{"strategy", "voltage"}, {"devices", "3"}, {"payload", payload}}, 12));
    EXPECT_TRUE(exact({{"strategy", "voltage"}, {"devices", "1"}, {"payload", payload}}, 12));
    KeyValues reduced = prism;
    reduced.emplace_back("payload", payload);
    EXPECT_FALSE(exact(reduced, 12));
  }
}

}  // namespace
}  // namespace thinwire::harness
