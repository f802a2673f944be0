#include "thinwire/cost/row_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "cost/workloads.hpp"
#include "support/messages.hpp"
#include "thinwire/cost/iteration.hpp"

namespace thinwire::cost {
namespace {

using test::make_tiny;

/// Calls `visit` for every division of `count` rows among `devices`, each `least` or more.
void for_each_division(Index count, std::size_t devices, Index least, std::vector<Index>& rows,
                       const std::function<void(const std::vector<Index>&)>& visit) {
  if (rows.size() + 1 == devices) {
    rows.push_back(count);
    if (count >= least) visit(rows);
    rows.pop_back();
    return;
  }
  for (Index first = least; first <= count - least; ++first) {
    rows.push_back(first);
    for_each_division(count - first, devices, least, rows, visit);
    rows.pop_back();
  }
}

RowCost least_cost(Index count, std::size_t devices, Index least, const RowObjective& objective) {
  RowCost best{.latency_s = std::numeric_limits<double>::infinity()};
  std::vector<Index> rows;
  for_each_division(count, devices, least, rows, [&](const std::vector<Index>& division) {
    best = std::min(best, objective(division));
  });
  return best;
}

/// The modelled latency of a text model of 24 tokens.
struct Setting {
  std::string_view strategy;
  std::vector<double> flops_per_s;
  fabric::Link link;
  Index segments = 0;
};

RowObjective latency_of(const Setting& setting) {
  model::ModelConfig model = test::tiny_bert();
  model.layers = 3;
  model.tokens = model.max_tokens = 24;
  Workload workload = make_tiny(model, setting.strategy,
                                static_cast<int>(setting.flops_per_s.size()), setting.segments);
  workload.partition = PartitionPolicy::automatic;
  workload.codewords = workload.active_codewords = 16;
  return [workload, setting](std::span<const Index> rows) mutable {
    workload.weights.assign(rows.begin(), rows.end());
    const Prediction prediction = predict(workload);
    const std::vector<double> slowness(rows.size(), 1.0);
    const auto times =
        modelled_time(std::span(&prediction, 1), setting.link, setting.flops_per_s, slowness);
    RowCost cost{.latency_s = iteration_s(times)};
    for (const DeviceTime& time : times) cost.imbalance += time.compute_s * time.compute_s;
    return cost;
  };
}

fabric::Link link_of(std::vector<double> bit_per_s,
                     fabric::Topology topology = fabric::Topology::unicast) {
  fabric::Link link{.topology = topology};
  link.rates.clear();
  for (const double rate : bit_per_s) link.rates.push_back(Rate::bits_per_second(rate));
  return link;
}

std::vector<Setting> settings() {
  using enum fabric::Topology;
  return {{"voltage", {1e6, 1e6}, link_of({1e6})},
          {"voltage", {3e6, 1e6}, link_of({1e5})},
          {"voltage", {4e6, 1e6, 2e6}, link_of({1e6})},
          {"voltage", {1e6, 1e6, 1e6}, link_of({1e6, 1e6, 1e4}, broadcast)},
          {"voltage", {1e6, 5e6, 1e6}, link_of({1e4, 1e6, 1e5}, shared)},
          {"prism", {3e6, 1e6, 1e6}, link_of({1e5}), 3},
          {"trace-b", {1e6, 2e6, 1e6}, link_of({1e4}, broadcast)},
          {"voltage", {1e6, 7e6, 2e6, 3e6}, link_of({1e6})}};
}

TEST(RowSearch, FindsTheLatencyThatBruteForceFinds) {
  for (const Setting& setting : settings()) {
    SCOPED_TRACE(testing::Message() << setting.strategy << " P=" << setting.flops_per_s.size()
                                    << ", " << to_string(setting.link));
    const RowObjective objective = latency_of(setting);
    const Index least = std::max<Index>(1, setting.segments);

    const RowChoice found = search_rows(24, least, setting.flops_per_s, objective);

    EXPECT_DOUBLE_EQ(found.cost.latency_s,
                     least_cost(24, setting.flops_per_s.size(), least, objective).latency_s);
    EXPECT_EQ(std::accumulate(found.rows.begin(), found.rows.end(), Index{0}), 24);
    EXPECT_GE(std::ranges::min(found.rows), least);
    EXPECT_EQ(objective(found.rows), found.cost);
  }
}

TEST(RowSearch, IsNeverWorseThanItsStartingPoints) {
  const std::vector<double> speeds{1, 9, 1};
  const RowObjective from_start = [](std::span<const Index> rows) {
    return RowCost{.latency_s = rows[1] == 7 ? 1.0 : 2.0};  // a needle that no descent finds
  };

  EXPECT_EQ(search_rows(300, 1, speeds, from_start, std::vector<Index>{200, 7, 93}).rows,
            (std::vector<Index>{200, 7, 93}));
}

TEST(RowSearch, PutsMemoryBeforeTime) {
  const std::vector<double> speeds{1, 1};
  const RowObjective objective = [](std::span<const Index> rows) {
    return RowCost{.lacking_bytes = static_cast<double>(std::max<Index>(0, rows[0] - 3)),
                   .latency_s = static_cast<double>(rows[1])};
  };

  EXPECT_EQ(search_rows(20, 1, speeds, objective).rows, (std::vector<Index>{3, 17}));
}

TEST(RowSearch, KeepsToItsEvaluations) {
  const std::vector<double> speeds(50, 1.0);
  int calls = 0;
  const RowObjective objective = [&](std::span<const Index> rows) {
    ++calls;
    return RowCost{.latency_s = static_cast<double>(rows[0])};
  };

  search_rows(1000, 1, speeds, objective, {}, 60);

  EXPECT_GT(calls, 3);
  EXPECT_LE(calls, 60);
}

TEST(RowSearch, RefusesFewerRowsThanNeeded) {
  const std::vector<double> speeds{1, 1, 1};
  const RowObjective objective = [](std::span<const Index>) { return RowCost{}; };

  EXPECT_TRUE(thinwire::test::mentions(
      thinwire::test::input_error([&] { search_rows(8, 3, speeds, objective); }),
      {"8 rows", "3 devices"}));
}

}  // namespace
}  // namespace thinwire::cost
