// What --partition=auto and --level=auto choose.
#include <gtest/gtest.h>

#include "support/messages.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/cost/iteration.hpp"
#include "thinwire/cost/overlap.hpp"
#include "thinwire/harness/auto_level.hpp"
#include "thinwire/harness/auto_partition.hpp"
#include "thinwire/harness/check_spec.hpp"
#include "thinwire/harness/point.hpp"
#include "thinwire/harness/sweep_runner.hpp"

namespace thinwire::harness {
namespace {

using test::input_error;
using test::mentions;

KeyValues with(KeyValues given, std::initializer_list<KeyValues::value_type> more) {
  given.insert(given.end(), more);
  return given;
}

const KeyValues kDevices{{"devices", "3"}, {"device-gflops", "20,10,5"}, {"rate", "500Mbps"}};
const KeyValues kAuto = with(kDevices, {{"partition", "auto"}});

double latency_s(const Point& point, std::size_t link = 0) {
  return cost::iteration_s(cost::modelled_time(point.predictions, point.spec.links().at(link),
                                               point.spec.flops_per_s_per_device(),
                                               point.spec.slowness_per_device()));
}

TEST(AutoPartition, IsFasterThanEveryOtherPolicy) {
  for (const char* strategy : {"voltage", "trace-b"}) {
    const Point chosen = make_point(make_run_spec(with(kAuto, {{"strategy", strategy}})));
    ASSERT_EQ(chosen.spec.rows.size(), 3U);
    EXPECT_GT(chosen.spec.rows[0], chosen.spec.rows[1]);
    EXPECT_GT(chosen.spec.rows[1], chosen.spec.rows[2]);
    for (const char* policy : {"paper", "balanced", "weighted"}) {
      const Point other = make_point(
          make_run_spec(with(kDevices, {{"strategy", strategy}, {"partition", policy}})));
      EXPECT_LE(latency_s(chosen), latency_s(other)) << strategy << " " << policy;
    }
  }
}

TEST(AutoPartition, RunsAndPredictsTheRowsThatItRecords) {
  const Point point = make_point(make_run_spec(kAuto));
  const cost::Workload workload = to_workload(point.spec, point.config, point.config.tokens);

  const auto slices = partition(197, 3, workload.partition, workload.weights);

  for (std::size_t p = 0; p < 3; ++p) EXPECT_EQ(slices[p].size, point.spec.rows[p]);
  const Json spec = to_json(predict_point(point)).at("spec");
  EXPECT_EQ(spec.at("partition"), "auto");
  EXPECT_EQ(spec.at("rows"), Json(point.spec.rows));
}

TEST(AutoPartition, LeavesEachDeviceTheRowsThatItsSegmentsNeed) {
  const KeyValues given = with(kAuto, {{"strategy", "prism"}, {"segments", "60"}});

  const Point point = make_point(make_run_spec(given));

  EXPECT_EQ(point.skip_reason, "");
  EXPECT_GE(std::ranges::min(point.spec.rows), 60);
}

TEST(AutoPartition, CountsNoReplicatedClassToken) {
  const Point point = make_point(
      make_run_spec(with(kAuto, {{"strategy", "astra"}, {"class-token", "replicated"}})));

  EXPECT_EQ(point.spec.rows[0] + point.spec.rows[1] + point.spec.rows[2], 196);
}

TEST(AutoPartition, GoesByTheSlowestLinkOfSeveral) {
  const auto rows_at = [&](const char* rate) {
    KeyValues given = kAuto;
    given[2].second = rate;
    return make_point(make_run_spec(given)).spec.rows;
  };

  EXPECT_EQ(rows_at("1Mbps,1Gbps"), rows_at("1Mbps"));
  EXPECT_NE(rows_at("1Mbps"), rows_at("1Gbps"));
}

TEST(AutoPartition, IsPartOfAnIdThatItsRowsAreNot) {
  RunSpec spec = make_run_spec(kAuto);
  const std::string id = spec_id(spec, "measured", {});
  spec.rows = {100, 50, 47};

  EXPECT_EQ(spec_id(spec, "measured", {}), id);
  EXPECT_NE(spec_id(make_run_spec(kDevices), "measured", {}), id);
}

TEST(AutoChoice, NeedsDeviceRates) {
  EXPECT_TRUE(mentions(input_error([] {
                         make_run_spec({{"devices", "2"}, {"partition", "auto"}});
                       }),
                       {"--partition=auto", "--device-gflops"}));
  EXPECT_TRUE(
      mentions(input_error([] {
                 make_run_spec({{"strategy", "trace-b"}, {"devices", "2"}, {"level", "auto"}});
               }),
               {"--level=auto", "--device-gflops"}));
  EXPECT_TRUE(mentions(input_error([] {
                         make_run_spec({{"strategy", "trace-b"},
                                        {"devices", "2"},
                                        {"device-gflops", "160"},
                                        {"level", "auto"},
                                        {"active-codewords", "8"}});
                       }),
                       {"--level=auto", "--active-codewords=8"}));
}

KeyValues trace_at(const char* rate, const char* level) {
  return {{"strategy", "trace-b"}, {"devices", "3"},          {"device-gflops", "160"},
          {"rate", rate},          {"topology", "broadcast"}, {"level", level}};
}

/// Whether every exchange behind the first is hidden.
bool is_hidden(const Point& point) {
  const auto windows_s =
      cost::modelled_windows_s(point.predictions.front(), point.spec.flops_per_s_per_device(),
                               point.spec.slowness_per_device());
  const auto law =
      cost::overlap_law(point.predictions.front(), point.spec.links().front(), windows_s);
  return std::all_of(law.begin() + 1, law.end(),
                     [](const cost::ExchangeOverlap& exchange) { return exchange.excess_s == 0; });
}

TEST(AutoLevel, IsTheFinestThatStaysHidden) {
  int coarser = 0;
  for (const char* rate : {"10kbps", "20kbps", "50kbps", "100kbps", "200kbps", "10Mbps"}) {
    const Point point = make_point(make_run_spec(trace_at(rate, "auto")));
    const int level = point.spec.level.value();
    if (!is_hidden(point)) continue;
    for (int finer = level + 1; finer <= 4; ++finer, ++coarser)
      EXPECT_FALSE(
          is_hidden(make_point(make_run_spec(trace_at(rate, std::to_string(finer).c_str())))))
          << rate << " level " << finer;
  }
  EXPECT_GT(coarser, 0) << "no rate at which a coarser level was needed";
  EXPECT_EQ(make_point(make_run_spec(trace_at("10Mbps", "auto"))).spec.level, 4);
}

TEST(AutoLevel, IsTheFastestWhereNoneStaysHidden) {
  const Point point = make_point(make_run_spec(trace_at("1kbps", "auto")));

  ASSERT_FALSE(is_hidden(point));
  for (int level = 0; level <= 4; ++level)
    EXPECT_LE(
        latency_s(point),
        latency_s(make_point(make_run_spec(trace_at("1kbps", std::to_string(level).c_str())))));
}

TEST(AutoLevel, IsRecordedAsTheLevelThatItIs) {
  const Point chosen = make_point(make_run_spec(trace_at("50kbps", "auto")));
  const std::string level = std::to_string(chosen.spec.level.value());
  const Point named = make_point(make_run_spec(trace_at("50kbps", level.c_str())));

  EXPECT_EQ(to_json(chosen.spec), to_json(named.spec));
  EXPECT_EQ(spec_id(chosen.spec, "measured", {}), spec_id(named.spec, "measured", {}));
}

TEST(AutoLevel, OfOneDeviceIsTheFinest) {
  const Point point =
      make_point(make_run_spec({{"strategy", "trace-b"}, {"devices", "1"}, {"level", "auto"}}));

  EXPECT_EQ(point.spec.level, 4);
}

}  // namespace
}  // namespace thinwire::harness
