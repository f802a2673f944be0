#include "print_evaluation.hpp"

#include <fmt/format.h>

#include <string>

#include "figures.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/base/types.hpp"

namespace thinwire::cli {
namespace {

std::string number(const Json& value) {
  return value.is_null() ? "-" : fmt::format("{:.5g}", value.get<double>());
}

std::string interval(const Json& bounds) {
  return fmt::format("[{}, {}]", number(bounds.at(0)), number(bounds.at(1)));
}

/// "prism on 3 devices, 10 segments, CR 4, level 2"
std::string configuration(const Json& spec) {
  const int devices = spec.at("devices");
  std::string text = fmt::format("{} on {} device{}", spec.at("strategy").get<std::string>(),
                                 devices, devices == 1 ? "" : "s");
  const auto add = [&](const char* key, const char* name) {
    const Json& value = spec.at(key);
    if (!value.is_null()) text += fmt::format(", {} {}", name, value.dump());
  };
  add("segments", "segments");
  add("compression-rate", "CR");
  if (spec.at("strategy") == "prism" && spec.at("scaling") != "on")
    text += fmt::format(", scaling {}", spec.at("scaling").get<std::string>());
  if (spec.contains("payload"))
    text += fmt::format(", {} payload", spec.at("payload").get<std::string>());
  add("groups", "groups");
  add("active-codewords", "codewords");
  return text;
}

void print_index_coding(const Json& coding) {
  fmt::print("  indices     {} coding: {} a sample (at most {}), {} of what fixed indices take\n",
             coding.at("coding").get<std::string>(), bits(coding.at("mean_bits")),
             bits(coding.at("most_bits")), number(coding.at("ratio")));
}

void print_agreement(const Json& agreement) {
  fmt::print("  agreement   ");
  if (!agreement.at("top1").is_null())
    fmt::print("top-1 {}, KL {} nats, ", number(agreement.at("top1")),
               number(agreement.at("kl_divergence")));
  fmt::print("cosine of outputs {}, largest relative difference {}\n",
             number(agreement.at("output_cosine")),
             number(agreement.at("largest_relative_difference")));
  if (!agreement.at("change").is_null())
    fmt::print("  change      {} {} against the single device\n", number(agreement.at("change")),
               interval(agreement.at("change_interval_95")));
}

}  // namespace

void print_evaluation(const Json& record) {
  const Json& spec = record.at("spec");
  fmt::print("{}: {}, {}", configuration(spec), spec.at("model").get<std::string>(),
             spec.at("data").get<std::string>());
  if (record.at("status") != "ok") {
    fmt::print("\n  {}: {}\n", record.at("status").get<std::string>(),
               record.at("reason").get<std::string>());
    return;
  }
  const Json& accuracy = record.at("accuracy");
  const Json& tokens = accuracy.at("tokens");
  fmt::print(", samples {}..{}\n", spec.at("samples").at(0).get<Index>(),
             spec.at("samples").at(1).get<Index>());
  fmt::print("  {:<11} {} {} over {} samples", accuracy.at("metric").get<std::string>(),
             number(accuracy.at("value")), interval(accuracy.at("interval_95")),
             accuracy.at("samples").get<Index>());
  for (const auto& [name, value] : accuracy.at("also").items())
    fmt::print(", {} {}", name, number(value));
  fmt::print(
      "\n  traffic     {} an inference, all devices together; {} tokens a sequence ({}..{})\n",
      bits(accuracy.at("bits_per_inference")), number(tokens.at("mean")),
      tokens.at("min").get<Index>(), tokens.at("max").get<Index>());
  fmt::print("{}", losses_line(record));
  if (accuracy.contains("index_coding")) print_index_coding(accuracy.at("index_coding"));
  if (accuracy.contains("agreement")) print_agreement(accuracy.at("agreement"));
  if (record.at("checks").at("counted_equals_predicted") == false)
    fmt::print("  COUNTED AND PREDICTED DIFFER\n");
}

}  // namespace thinwire::cli
