#include "thinwire/harness/result_comparison.hpp"

#include <gtest/gtest.h>

#include "thinwire/base/error.hpp"

namespace thinwire::harness {
namespace {

Json record(const std::string& id, int devices, std::vector<double> latencies, int repeat = 0,
            std::int64_t flops = 100) {
  const Json samples = {{"samples", latencies}};
  const Json link = {{"link", {{"topology", "unicast"}}},
                     {"link_bits", 8},
                     {"latency_s", samples},
                     {"compute_s", samples},
                     {"wait_s", {{"samples", {0, 0}}}}};
  return {{"id", id},
          {"status", "ok"},
          {"source", "measured"},
          {"spec", {{"strategy", "prism"}, {"devices", devices}, {"repeat", repeat}}},
          {"codebook", nullptr},
          {"operations", {{"total_flops", flops}}},
          {"traffic", {{"exchanges", 12}, {"mpi_calls", {{"MPI_Sendrecv", flops}}}}},
          {"time", {{"links", Json::array({link})}}}};
}

ResultComparison compare(const std::vector<Json>& a, const std::vector<Json>& b,
                         Metric metric = Metric::latency) {
  return compare_results(a, b, metric, 0);
}

TEST(CompareResults, DividesMediansOfPairs) {
  const ResultComparison comparison =
      compare({record("a", 2, {1, 2, 3}), record("b", 3, {4, 4, 4})},
              {record("b", 3, {2, 2, 2}), record("a", 2, {4, 4, 4}), record("c", 4, {1})});

  ASSERT_EQ(comparison.pairs.size(), 2U);
  EXPECT_EQ(comparison.only_in_a, 0);
  EXPECT_EQ(comparison.only_in_b, 1);
  EXPECT_EQ(comparison.pairs[0].links[0].ratio, 2.0);
  EXPECT_EQ(comparison.pairs[1].links[0].ratio, 0.5);
  EXPECT_DOUBLE_EQ(*comparison.geometric_mean, 1.0);
  EXPECT_TRUE(comparison.pairs[0].differences.empty());
}

TEST(CompareResults, PoolsTheSamplesOfRepetitions) {
  const ResultComparison comparison =
      compare({record("a0", 2, {1}, 0), record("a1", 2, {3}, 1)}, {record("a2", 2, {6}, 2)});

  ASSERT_EQ(comparison.pairs.size(), 1U);
  EXPECT_EQ(comparison.pairs[0].links[0].samples_a, 2);
  EXPECT_EQ(comparison.pairs[0].links[0].ratio, 3.0);
  EXPECT_FALSE(comparison.pairs[0].links[0].interval.has_value());  // of one sample
  EXPECT_FALSE(comparison.pairs[0].spec.contains("repeat"));
}

TEST(CompareResults, PairsRunsWhereverTheSingleDeviceWasBeside) {
  Json with = record("a", 2, {1}), without = record("b", 2, {2}), before = record("c", 2, {3});
  with["spec"]["agreement"] = true;
  without["spec"]["agreement"] = nullptr;

  EXPECT_EQ(compare({with}, {without}).pairs.size(), 1U);
  EXPECT_EQ(compare({before}, {with}).pairs.size(), 1U);
}

TEST(CompareResults, GivesIntervalsThatHoldTheRatioAndNarrowWithSamples) {
  std::vector<double> few, many;
  for (int i = 0; i < 200; ++i) {
    const double sample = 1 + 0.01 * ((i * 37) % 100);
    many.push_back(sample);
    if (i < 8) few.push_back(sample);
  }
  const auto interval = [](const std::vector<double>& samples) {
    const ResultComparison comparison =
        compare({record("a", 2, samples)}, {record("a", 2, samples)});
    EXPECT_EQ(comparison.pairs[0].links[0].ratio, 1.0);
    EXPECT_EQ(comparison.interval->low, comparison.pairs[0].links[0].interval->low);
    return *comparison.pairs[0].links[0].interval;
  };

  const Interval wide = interval(few), narrow = interval(many);

  EXPECT_LT(wide.low, 1);
  EXPECT_GT(wide.high, 1);
  EXPECT_LT(narrow.high - narrow.low, wide.high - wide.low);
  EXPECT_GT(narrow.low, 0.8);
  EXPECT_EQ(narrow.low, interval(many).low);  // seeded
}

TEST(CompareResults, ShowsCountsThatDiffer) {
  const ResultComparison comparison =
      compare({record("a", 2, {1, 1}, 0, 100)}, {record("a", 2, {1, 1}, 0, 101)});

  ASSERT_EQ(comparison.pairs[0].differences.size(), 1U);  // calls are an implementation's matter
  EXPECT_EQ(comparison.pairs[0].differences[0].name, "operations/total_flops");
  EXPECT_EQ(comparison.pairs[0].differences[0].a, 100);
  EXPECT_EQ(comparison.pairs[0].differences[0].b, 101);
}

TEST(CompareResults, HasNoRatioOverNothing) {
  const ResultComparison comparison =
      compare({record("a", 2, {1, 1})}, {record("a", 2, {1, 1})}, Metric::wait);

  EXPECT_FALSE(comparison.pairs[0].links[0].ratio.has_value());
  EXPECT_FALSE(comparison.geometric_mean.has_value());
  EXPECT_TRUE(to_json(comparison)["geometric_mean"].is_null());
}

TEST(CompareResults, LeavesOutFailedRecordsAndPairsByIdAcrossVersions) {
  Json failed = record("a", 2, {9, 9});
  failed["status"] = "failed";
  Json newer = record("b", 3, {2, 2});
  newer["spec"]["option-of-tomorrow"] = nullptr;

  const ResultComparison comparison =
      compare({failed, record("b", 3, {1, 1})}, {record("a", 2, {9, 9}), newer});

  ASSERT_EQ(comparison.pairs.size(), 1U);
  EXPECT_EQ(comparison.pairs[0].links[0].ratio, 2.0);
  EXPECT_EQ(comparison.only_in_b, 1);
}

TEST(Metric, RefusesUnknownNames) {
  EXPECT_EQ(metric_from("compute"), Metric::compute);
  EXPECT_THROW(metric_from("latancy"), InputError);
}

}  // namespace
}  // namespace thinwire::harness
