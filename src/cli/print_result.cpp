#include "print_result.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "thinwire/base/json.hpp"
#include "thinwire/base/types.hpp"
#include "thinwire/base/units.hpp"

namespace thinwire::cli {
namespace {

std::string seconds(const Json& value) {
  return value.is_null() ? "-" : to_string(Seconds(value.get<double>()));
}

std::string bytes(const Json& value) {
  return value.is_null() ? "-" : to_string(Bytes(value.get<std::int64_t>()));
}

/// Bits with a decimal prefix.
std::string bits(const Json& value) {
  if (value.is_null()) return "-";
  double amount = value.get<double>();
  const char* unit = "bit";
  for (const char* larger : {"kbit", "Mbit", "Gbit"}) {
    if (std::abs(amount) < 1000) break;
    amount /= 1000;
    unit = larger;
  }
  return fmt::format("{:.4g} {}", amount, unit);
}

struct FlopsUnit {
  double size;
  const char* name;
};

/// As the papers print them; models too small for their unit get a smaller one.
FlopsUnit flops_unit(double flops) {
  return flops >= 1e9 ? FlopsUnit{1e9, "GFLOPs"} : FlopsUnit{1e6, "MFLOPs"};
}

std::string link_name(const Json& link) {
  const auto rate = [](const Json& value) {
    return value.is_null() ? std::string("unlimited")
                           : to_string(Rate::bits_per_second(value.get<double>()));
  };
  std::string name;
  const Json& rates = link.at("rate_bit_per_s");
  if (rates.is_array())
    for (const Json& each : rates) name += fmt::format("{}{}", name.empty() ? "" : ":", rate(each));
  else
    name = rate(rates);
  const double latency_s = link.at("latency_s");
  if (latency_s > 0) name += fmt::format(", {}", to_string(Seconds(latency_s)));
  return fmt::format("{}, {}", name, link.at("topology").get<std::string>());
}

void print_heading(const Json& record) {
  const Json& spec = record.at("spec");
  const int devices = spec.at("devices");
  fmt::print("{} on {} device{}: {}", spec.at("strategy").get<std::string>(), devices,
             devices == 1 ? "" : "s", spec.at("model").get<std::string>());
  if (spec.value("tokens", Json()).is_number() && spec.at("tokens") > 0)
    fmt::print(", {} tokens", spec.at("tokens").get<Index>());
  if (record.at("source") == "predicted")
    fmt::print("; predicted by formula\n");
  else
    fmt::print("; {} clock, {} iteration{}\n", spec.at("clock").get<std::string>(),
               spec.at("iterations").get<int>(), spec.at("iterations") == 1 ? "" : "s");
  if (record.at("status") != "ok")
    fmt::print("  {}: {}\n", record.at("status").get<std::string>(),
               record.at("reason").get<std::string>());
}

void print_operations(const Json& record) {
  const Json& operations = record.at("operations");
  const Json& agrees = record.at("checks").at("counted_equals_predicted");
  const char* check = "";
  if (!agrees.is_null())
    check = agrees.get<bool>() ? "; counted = predicted" : "; COUNTED AND PREDICTED DIFFER";
  const double total = operations.at("total_flops");
  const auto [size, unit] = flops_unit(total);
  fmt::print("  operations  {:.2f} {} in all, {:.2f} a device (convention {}){}\n", total / size,
             unit, operations.at("per_device_flops").get<double>() / size,
             operations.at("convention").get<std::string>(), check);
}

void print_traffic(const Json& record) {
  const Json& traffic = record.at("traffic");
  if (traffic.at("exchanges") == 0) return;
  fmt::print("  traffic     {} exchanges, {} each (nominal, one device); {} on the link in all",
             traffic.at("exchanges").get<int>(), bits(traffic.at("nominal_bits_per_exchange")),
             bits(traffic.at("link_bits")));
  const Json& rate = traffic.at("compression_rate");
  if (!rate.is_null() && rate.get<double>() > 1)
    fmt::print("; compression {:.2f}", rate.get<double>());
  fmt::print("\n");
}

void print_memory(const Json& record) {
  const Json& memory = record.at("memory");
  fmt::print("  memory      {} weights, {} activations a device (most)",
             bytes(memory.at("weights_bytes")), bytes(memory.at("activations_bytes")));
  if (!memory.at("resident_bytes").is_null())
    fmt::print("; {} private a process", bytes(memory.at("resident_bytes")));
  fmt::print("\n");
}

void print_times(const Json& record) {
  const Json& links = record.at("time").at("links");
  if (links.empty() || links.at(0).at("latency_s").is_null() ||
      links.at(0).at("latency_s").at("p50").is_null())
    return;
  fmt::print("\n  {:<28} {:>12} {:>21} {:>11} {:>11}\n", "link", "latency p50",
             "fastest .. slowest", "compute", "waiting");
  for (const Json& link : links) {
    const Json& latency = link.at("latency_s");
    fmt::print("  {:<28} {:>12} {:>21} {:>11} {:>11}\n", link_name(link.at("link")),
               seconds(latency.at("p50")),
               seconds(latency.at("min")) + " .. " + seconds(latency.at("max")),
               seconds(link.at("compute_s").at("p50")), seconds(link.at("wait_s").at("p50")));
  }
}

void print_class(const Json& entry, const Json& beside) {
  const auto name = [](const Json& e) {
    return e.at("name").is_null() ? fmt::format("class {}", e.at("label").get<int>())
                                  : e.at("name").get<std::string>();
  };
  fmt::print("    {:<24} {:>7.2f} %      {:<24} {:>7.2f} %\n", name(entry),
             entry.at("probability").get<double>() * 100, name(beside),
             beside.at("probability").get<double>() * 100);
}

void print_answer(const Json& answer) {
  const std::string kind = answer.at("kind");
  if (kind == "classes") {
    fmt::print("\n  answer      {:<36}one device\n", "this strategy");
    for (std::size_t i = 0; i < answer.at("classes").size(); ++i)
      print_class(answer.at("classes").at(i), answer.at("single_classes").at(i));
    if (!answer.at("label").is_null())
      fmt::print("    true class: {}\n", answer.at("label").dump());
  } else if (kind == "pair") {
    fmt::print("\n  answer      cosine {:.6f}, one device {:.6f}",
               answer.at("cosine").get<double>(), answer.at("single_cosine").get<double>());
    if (!answer.at("score").is_null())
      fmt::print("; human score {:.2f}", answer.at("score").get<double>());
    fmt::print("\n");
  } else if (kind == "language") {
    fmt::print("\n  answer      perplexity {:.4f}, one device {:.4f}",
               answer.at("perplexity").get<double>(), answer.at("single_perplexity").get<double>());
    if (answer.contains("bits_per_byte"))
      fmt::print("; bits per byte {:.4f}, one device {:.4f}",
                 answer.at("bits_per_byte").get<double>(),
                 answer.at("single_bits_per_byte").get<double>());
    fmt::print("\n");
  } else {
    fmt::print("\n  answer      embedding at cosine {:.6f} of one device's\n",
               answer.at("embedding_cosine").get<double>());
  }
  for (const Json& hidden : answer.at("hidden"))
    fmt::print(
        "  hidden      cosine with one device's last states: mean {:.6f}, least {:.6f}; "
        "largest difference {:.1e} of the largest value\n",
        hidden.at("mean_cosine").get<double>(), hidden.at("least_cosine").get<double>(),
        hidden.at("relative_difference").get<double>());
}

}  // namespace

void print_record(const Json& record) {
  print_heading(record);
  if (record.at("status") != "ok") return;
  print_operations(record);
  print_traffic(record);
  print_memory(record);
  print_times(record);
  if (!record.at("answer").is_null()) print_answer(record.at("answer"));
}

}  // namespace thinwire::cli
