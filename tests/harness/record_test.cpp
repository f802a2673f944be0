#include "thinwire/harness/record.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "thinwire/harness/check_spec.hpp"

namespace thinwire::harness {
namespace {

using fabric::LinkTimes;

/// A spec of two devices and two links, with what its formula says as the counted values.
Result measured_result() {
  Result result;
  result.spec = make_run_spec(
      {{"devices", "2"}, {"segments", "10"}, {"rate", "10Mbps,unlimited"}, {"iterations", "2"}});
  const model::ModelConfig config = model::preset("vit-base-16");
  result.model_fingerprint = "abc";
  result.tokens = {197};
  result.predictions = {cost::predict(to_workload(result.spec, config, 197))};
  const cost::Prediction& prediction = result.predictions.front();
  result.operations = prediction.device_operations;
  for (std::size_t p = 0; p < 2; ++p)
    result.traffic.push_back({.payload_bits = prediction.payload_bits[p],
                              .header_bits = prediction.header_bits[p],
                              .padding_bits = prediction.padding_bits[p],
                              .wire_bytes = prediction.wire_bytes[p],
                              .exchanges = 12,
                              .mpi_calls = {{"MPI_Allgatherv", 12}}});
  result.link_bits = {1000, 2000};
  result.held_bytes = {5, 7};
  result.resident_bytes = {50, 40};
  // [link][iteration][device]: device 1 ends last in iteration 0, device 0 in iteration 1.
  result.times = {{{LinkTimes{1, 0.5, 0.1, 0.2}, LinkTimes{1.25, 0.5, 0.3, 0}},
                   {LinkTimes{2, 1, 0, 0}, LinkTimes{1, 1, 0, 0}}},
                  {{LinkTimes{1, 0, 0, 0}, LinkTimes{1, 0, 0, 0}},
                   {LinkTimes{1, 0, 0, 0}, LinkTimes{1, 0, 0, 0}}}};
  result.setup_s = 0.5;
  result.emulation_overhead = 1.1;
  result.environment = {{"cpu", "a CPU"}};
  return result;
}

std::vector<std::string> keys_of(const Json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

TEST(Record, HasTheFixedNames) {
  using Names = std::vector<std::string>;
  const Json record = to_json(measured_result());

  EXPECT_EQ(keys_of(record),
            (Names{"schema", "id", "status", "reason", "source", "spec", "operations", "traffic",
                   "memory", "codebook", "time", "answer", "accuracy", "checks", "environment"}));
  EXPECT_EQ(keys_of(record["operations"]),
            (Names{"convention", "total_flops", "per_device_flops", "device_flops",
                   "terminal_flops", "block_flops", "by_kind"}));
  EXPECT_EQ(keys_of(record["traffic"]),
            (Names{"pdplc_tokens", "compression_rate", "compression_rate_requested", "exchanges",
                   "nominal_bits_per_exchange", "nominal_bits_first_exchange",
                   "nominal_bits_per_inference", "link_bits", "mpi_calls", "terminal_wire_bytes",
                   "per_device"}));
  for (const char* key :
       {"weights_bytes", "codebooks_bytes", "buffers_bytes", "activations_bytes", "resident_bytes"})
    EXPECT_TRUE(record["memory"].contains(key)) << key;
  for (const char* key : {"setup_s", "emulation_overhead", "nominal_communication_s", "links",
                          "distribution_s", "collection_s", "overlap", "bubble_fraction"})
    EXPECT_TRUE(record["time"].contains(key)) << key;
  for (const char* key :
       {"link", "link_bits", "latency_s", "compute_s", "wait_s", "hidden_s", "skew_s", "per_device",
        "terminal", "first_output_s", "throughput_per_s", "idle_fraction"})
    EXPECT_TRUE(record["time"]["links"][0].contains(key)) << key;
}

TEST(Record, CountsExactIntegers) {
  const Json record = to_json(measured_result());

  EXPECT_EQ(record["operations"]["total_flops"], 35071034112);  // ACCOUNTING 1
  EXPECT_TRUE(record["operations"]["total_flops"].is_number_integer());
  EXPECT_EQ(record["operations"]["per_device_flops"], 35071034112 / 2);
  EXPECT_EQ(record["traffic"]["exchanges"], 12);
  EXPECT_EQ(record["traffic"]["mpi_calls"]["MPI_Allgatherv"], 24);
  EXPECT_EQ(record["traffic"]["link_bits"], 1000);
  EXPECT_EQ(record["time"]["links"][1]["link_bits"], 2000);
  EXPECT_EQ(record["traffic"]["pdplc_tokens"], 10);
  EXPECT_EQ(record["memory"]["held_bytes"], 7);
  EXPECT_EQ(record["memory"]["resident_bytes"], 50);
  EXPECT_EQ(record["spec"]["tokens"], 197);
}

TEST(Record, ReportsTheDeviceThatEndsLastInEachIteration) {
  const Json record = to_json(measured_result());

  const Json& link = record["time"]["links"][0];
  EXPECT_EQ(link["latency_s"]["samples"], (Json{1.75, 3}));
  EXPECT_EQ(link["compute_s"]["samples"], (Json{1.25, 2}));
  EXPECT_EQ(link["wait_s"]["samples"], (Json{0.5, 1}));
  EXPECT_EQ(link["hidden_s"]["samples"], (Json{0.3, 0}));
  EXPECT_EQ(link["per_device"][0]["latency_s"]["samples"], (Json{1.5, 3}));
  EXPECT_EQ(link["per_device"][0]["skew_s"]["samples"], (Json{0.2, 0}));
  EXPECT_EQ(link["link"]["rate_bit_per_s"], 1e7);
  EXPECT_TRUE(record["time"]["links"][1]["link"]["rate_bit_per_s"].is_null());
}

TEST(Record, ChecksCountedAgainstPredictedInEveryField) {
  const auto check = [](const Result& result) {
    return to_json(result)["checks"]["counted_equals_predicted"];
  };
  EXPECT_EQ(check(measured_result()), true);

  Result result = measured_result();
  ++result.operations[1].bias_elements;
  EXPECT_EQ(check(result), false);

  for (const auto member : {&fabric::Traffic::payload_bits, &fabric::Traffic::header_bits,
                            &fabric::Traffic::padding_bits}) {
    result = measured_result();
    ++(result.traffic[0].*member);
    EXPECT_EQ(check(result), false);
  }
}

TEST(Record, OfAPredictionTakesTheFormulas) {
  const Result measured = measured_result();
  Result result;
  result.spec = measured.spec;
  result.source = Source::predicted;
  result.predictions = measured.predictions;

  const Json record = to_json(result);

  EXPECT_EQ(record["operations"], to_json(measured)["operations"]);
  EXPECT_EQ(record["traffic"]["per_device"], to_json(measured)["traffic"]["per_device"]);
  // Unicast between two devices: what both send.
  const cost::Prediction& prediction = measured.predictions.front();
  EXPECT_EQ(record["traffic"]["link_bits"],
            8 * (prediction.wire_bytes[0] + prediction.wire_bytes[1]));
  EXPECT_TRUE(record["traffic"]["mpi_calls"].is_null());
  EXPECT_TRUE(record["checks"]["counted_equals_predicted"].is_null());
  ASSERT_EQ(record["time"]["links"].size(), 2U);
  EXPECT_TRUE(record["time"]["links"][0]["latency_s"]["p50"].is_null());
  EXPECT_NE(record["id"], to_json(measured)["id"]);
}

TEST(Record, OfAPairAddsItsSequences) {
  Result result = measured_result();
  result.predictions.push_back(result.predictions.front());
  result.tokens.push_back(197);

  const Json record = to_json(result);

  EXPECT_EQ(record["traffic"]["exchanges"], 24);
  EXPECT_EQ(record["traffic"]["pdplc_tokens"], 10);
  EXPECT_EQ(record["traffic"]["nominal_bits_per_inference"],
            2 * result.predictions.front().nominal_bits_per_inference);
  EXPECT_EQ(record["checks"]["counted_equals_predicted"], false);  // counted for one only
}

TEST(Record, GivesNullForFiguresWithoutMeaning) {
  Result result = measured_result();
  result.predictions.front().pdplc_tokens = NAN;
  result.emulation_overhead = NAN;

  const Json record = to_json(result);

  EXPECT_TRUE(record["traffic"]["pdplc_tokens"].is_null());
  EXPECT_TRUE(record["time"]["emulation_overhead"].is_null());
  EXPECT_EQ(record.dump().find("nan"), std::string::npos);
}

TEST(Record, OfAPointThatDidNotRunSaysWhy) {
  const Json record =
      to_json(unfinished(RunSpec{}, Source::measured, Status::skipped, "too large"));

  EXPECT_EQ(record["status"], "skipped");
  EXPECT_EQ(record["reason"], "too large");
  EXPECT_TRUE(record["time"].is_null());
  EXPECT_TRUE(record["operations"].is_null());
  EXPECT_EQ(record["id"], spec_id(RunSpec{}, "measured", {}));
}

TEST(Record, StartsWithItsSchema) {
  // ResultFile recognises a truncated record by these bytes.
  EXPECT_TRUE(to_json(measured_result()).dump().starts_with(R"({"schema":"thinwire.result/1",)"));
}

/// Keys that an object of the record has and its schema does not describe, or the other way round.
void expect_described(const Json& value, const Json& schema, const std::string& place,
                      const Json& root) {
  Json resolved = schema;
  if (resolved.contains("anyOf")) resolved = resolved["anyOf"][0];
  if (resolved.contains("$ref")) {
    const std::string pointer = resolved["$ref"].get<std::string>().substr(1);
    resolved = root.at(Json::json_pointer(pointer));
  }
  if (value.is_array() && resolved.contains("items"))
    for (const Json& element : value)
      expect_described(element, resolved["items"], place + "[]", root);
  if (!value.is_object() || !resolved.contains("properties")) return;
  for (const Json& key : resolved.value("required", Json::array()))
    EXPECT_TRUE(value.contains(key.get<std::string>())) << place << " lacks " << key;
  for (const auto& [key, member] : value.items()) {
    const std::string where = place + "/" + key;
    const bool is_described = resolved["properties"].contains(key);
    EXPECT_TRUE(is_described || resolved.contains("additionalProperties")) << where;
    if (is_described) expect_described(member, resolved["properties"][key], where, root);
  }
}

TEST(Record, HasWhatItsJsonSchemaRequires) {
  const Json schema =
      read_json(std::string(THINWIRE_SOURCE_DIR) + "/schema/thinwire.result-1.schema.json");
  Result result = measured_result();
  result.environment = Json(nullptr);

  expect_described(to_json(result), schema, "", schema);
}

}  // namespace
}  // namespace thinwire::harness
