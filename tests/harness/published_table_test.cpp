#include "thinwire/harness/published_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/messages.hpp"
#include "thinwire/harness/check_spec.hpp"
#include "thinwire/harness/expand.hpp"
#include "thinwire/harness/record.hpp"

namespace thinwire::harness {
namespace {

using fabric::LinkTimes;
using test::mentions;

Json prism_tables() {
  return read_json(std::string(THINWIRE_SOURCE_DIR) + "/results/published/prism.json");
}

Result predicted(const RunSpec& spec) {
  Result result;
  result.spec = spec;
  result.source = Source::predicted;
  const model::ModelConfig config = model::preset(spec.model);
  result.tokens = {config.tokens};
  result.predictions = {cost::predict(to_workload(spec, config, config.tokens))};
  return result;
}

/// Predicted records of every row of the paper's three tables.
std::vector<Json> table_records() {
  const Sweep sweep = make_sweep(Json::parse(R"({"points": [
    {"model": ["vit-base-16", "bert-base", "gpt2"]},
    {"model": ["vit-base-16", "bert-base", "gpt2"], "devices": [2, 3]},
    {"devices": [2, 3], "segments": [10, 20, 30]},
    {"devices": 2, "segments": [10, 20, 30], "scaling": "duplicate"},
    {"model": "bert-base", "devices": 2, "segments": [13, 1]},
    {"model": "bert-base", "devices": 3, "segments": [9, 1]},
    {"model": "gpt2", "devices": [2, 3], "compression-rate": "2..10"}]})"));
  std::vector<Json> records;
  for (const RunSpec& spec : sweep.points) records.push_back(to_json(predicted(spec)));
  return records;
}

const ComparedTable& table_of(const Comparison& comparison, std::string_view key) {
  return *std::ranges::find(comparison.tables, key, &ComparedTable::key);
}

const Cell& cell_of(const ComparedTable& table, std::string_view row, std::string_view column) {
  const auto r = std::ranges::find(table.rows, row, &ComparedRow::label);
  const auto c = std::ranges::find(table.columns, column, &Column::key);
  EXPECT_TRUE(r != table.rows.end() && c != table.columns.end()) << row << ", " << column;
  return r->cells.at(static_cast<std::size_t>(c - table.columns.begin()));
}

struct Count {
  int cells = 0, equal = 0;
  double largest_percent = 0;
};
Count count_of(const Comparison& comparison, std::string_view column) {
  Count count;
  for (const char* key : {"vit", "bert", "gpt2"}) {
    const ComparedTable& table = table_of(comparison, key);
    const auto c = std::ranges::find(table.columns, column, &Column::key) - table.columns.begin();
    if (c == std::ssize(table.columns)) continue;
    for (const ComparedRow& row : table.rows) {
      const Cell& cell = row.cells[static_cast<std::size_t>(c)];
      if (cell.published.empty()) continue;
      ++count.cells;
      count.equal += cell.is_equal.value_or(false) ? 1 : 0;
      count.largest_percent = std::max(count.largest_percent, cell.relative_percent.value_or(100));
    }
  }
  return count;
}

TEST(ComparePublished, ReproducesTheTotalsThatAccountingPromises) {
  const std::vector<Json> records = table_records();

  const Comparison comparison = compare_published(prism_tables(), records);

  const Count totals = count_of(comparison, "gflops_total");
  EXPECT_EQ(totals.cells, 38);
  EXPECT_EQ(totals.equal, 33);
  EXPECT_LT(totals.largest_percent, 0.04);
  for (const char* column : {"pdplc_tokens", "cr", "comm_speedup_percent"}) {
    const Count count = count_of(comparison, column);
    EXPECT_GT(count.cells, 10) << column;
    EXPECT_EQ(count.equal, count.cells) << column;
  }
}

TEST(ComparePublished, ComputesCellsWithTheDigitsOfThePaper) {
  const std::vector<Json> records = table_records();

  const Comparison comparison = compare_published(prism_tables(), records);

  const ComparedTable& vit = table_of(comparison, "vit");
  EXPECT_EQ(cell_of(vit, "PRISM P=3 L=20", "cr").ours, "3.28");
  EXPECT_EQ(cell_of(vit, "Voltage P=2", "pdplc_tokens").ours, "99");
  EXPECT_EQ(cell_of(vit, "Voltage P=2", "gflops_total").ours, "40.73");
  EXPECT_EQ(cell_of(vit, "Voltage P=2", "gflops_total").difference, "-0.01");
  EXPECT_EQ(cell_of(vit, "PRISM P=2 L=10", "gflops_total").difference, "0");
  EXPECT_EQ(cell_of(vit, "PRISM P=2 L=10", "cifar10").ours, "-");
  EXPECT_EQ(cell_of(table_of(comparison, "bert"), "PRISM P=2 L=1", "cr").ours, "128");
  const ComparedTable& gpt = table_of(comparison, "gpt2");
  EXPECT_EQ(cell_of(gpt, "PRISM P=3 CR=10", "cr").ours, "10");
  EXPECT_EQ(cell_of(gpt, "PRISM P=3 CR=10", "cr_realised").ours, "10.69");
  const ComparedTable& duplicates = table_of(comparison, "duplicates");
  EXPECT_EQ(cell_of(duplicates, "PRISM P=2 L=10", "gflops_duplicated").ours, "40.73");
  EXPECT_EQ(cell_of(duplicates, "PRISM P=2 L=10", "scaling_saving_percent").ours, "13.90");
}

/// A record whose latency is fixed + per_bit / rate on links of 100, 200 and 400 Mbps.
Json timed(KeyValues options, double fixed_s, double per_rate_s) {
  options.emplace_back("rate", "100Mbps,200Mbps,400Mbps");
  options.emplace_back("clock", "modelled");
  options.emplace_back("device-gflops", "160");
  Result result = predicted(make_run_spec(options));
  for (const double rate : {1.0, 2.0, 4.0})
    result.times.push_back({std::vector<LinkTimes>(static_cast<std::size_t>(result.spec.devices),
                                                   LinkTimes{fixed_s, per_rate_s / rate, 0, 0})});
  return to_json(result);
}

TEST(ComparePublished, ComparesLatenciesOnTheNamedLink) {
  const std::vector<Json> records{timed({}, 0.2, 0),
                                  timed({{"devices", "2"}, {"segments", "10"}}, 0.1, 0.04),
                                  timed({{"devices", "2"}}, 0.12, 0.24)};

  const Comparison comparison = compare_published(prism_tables(), records);

  const ComparedTable& latency = table_of(comparison, "latency");
  const Cell& reduction = cell_of(latency, "PRISM P=2 L=10", "reduction_modelled");
  EXPECT_EQ(reduction.ours, "40.0");  // 1 - 0.12 / 0.2 at 200 Mbps
  EXPECT_EQ(reduction.difference, "-3.3");
  EXPECT_EQ(reduction.is_equal, false);
  EXPECT_EQ(cell_of(latency, "PRISM P=2 L=10", "reduction_measured").ours, "-");
  EXPECT_EQ(cell_of(latency, "Voltage P=2", "standing_modelled").ours, "slower");
  EXPECT_EQ(cell_of(latency, "Voltage P=2", "standing_modelled").is_equal, true);
  EXPECT_EQ(cell_of(latency, "Voltage P=2", "break_even_modelled").ours, "300");  // 0.24 / r = 0.08
}

TEST(ComparePublished, IgnoresRecordsOfOtherConfigurations) {
  std::vector<Json> records{to_json(predicted(make_run_spec({{"convention", "mac"}}))),
                            to_json(predicted(make_run_spec({})))};
  records[1]["status"] = "failed";

  const Comparison comparison = compare_published(prism_tables(), records);

  EXPECT_EQ(cell_of(table_of(comparison, "vit"), "Single device", "gflops_total").ours, "-");
}

TEST(ComparePublished, PrefersMeasuredRecords) {
  Json predicted_record = to_json(predicted(make_run_spec({})));
  Json measured_record = predicted_record;
  measured_record["source"] = "measured";
  measured_record["operations"]["total_flops"] = 1'000'000'000;
  const std::vector<Json> records{measured_record, predicted_record};

  const Comparison comparison = compare_published(prism_tables(), records);

  EXPECT_EQ(cell_of(table_of(comparison, "vit"), "Single device", "gflops_total").ours, "1.00");
}

TEST(ComparePublished, RefusesAnotherFormat) {
  EXPECT_THROW(compare_published(Json::object(), {}), InputError);
  Json tables = prism_tables();
  tables["tables"][0]["columns"][0]["quantity"] = "beauty";
  const std::string message = test::input_error([&] { compare_published(tables, {}); });
  EXPECT_TRUE(mentions(message, {"vit", "beauty"}));
}

TEST(PublishedTexts, ShowPublishedBesideOurs) {
  const Comparison comparison = compare_published(prism_tables(), table_records());

  const std::string markdown = to_markdown(comparison);
  const std::string csv = to_csv(comparison);
  const Json json = to_json(comparison);

  EXPECT_TRUE(mentions(markdown, {"40.74 / **40.73** (-0.01)", "35.07 / 35.07", "98.01 / -",
                                  "GFLOPs total: 8 of 10 equal to the printed digit"}));
  EXPECT_TRUE(mentions(csv, {"vit,Voltage P=2,gflops_total,1e9 FLOP,40.74,40.73,-0.01,no\n"}));
  EXPECT_EQ(json.size(), static_cast<std::size_t>(std::ranges::count(csv, '\n') - 1));
  EXPECT_EQ(json[0]["equal"], true);
  EXPECT_TRUE(json[2]["ours"].is_null());  // CIFAR-10 of the single device
}

}  // namespace
}  // namespace thinwire::harness
