#include "print_result.hpp"

#include <fmt/format.h>

#include <string>

#include "figures.hpp"
#include "print_agreement.hpp"
#include "print_answer.hpp"
#include "print_times.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/base/types.hpp"

namespace thinwire::cli {
namespace {

struct FlopsUnit {
  double size;
  const char* name;
};

/// As the papers print them; models too small for their unit get a smaller one.
FlopsUnit flops_unit(double flops) {
  return flops >= 1e9 ? FlopsUnit{1e9, "GFLOPs"} : FlopsUnit{1e6, "MFLOPs"};
}

void print_heading(const Json& record) {
  const Json& spec = record.at("spec");
  const int devices = spec.at("devices");
  fmt::print("{} on {} device{}{}: {}", spec.at("strategy").get<std::string>(), devices,
             devices == 1 ? "" : "s", spec.at("io") == "terminal" ? " and a terminal" : "",
             spec.at("model").get<std::string>());
  if (spec.value("tokens", Json()).is_number() && spec.at("tokens") > 0)
    fmt::print(", {} tokens", spec.at("tokens").get<Index>());
  if (spec.at("dtype") != "fp32") fmt::print(", {}", spec.at("dtype").get<std::string>());
  if (record.at("source") == "predicted")
    fmt::print("; predicted by formula\n");
  else
    fmt::print("; {} clock, {} iteration{}\n", spec.at("clock").get<std::string>(),
               spec.at("iterations").get<int>(), spec.at("iterations") == 1 ? "" : "s");
  if (record.at("status") != "ok")
    fmt::print("  {}: {}\n", record.at("status").get<std::string>(),
               record.at("reason").get<std::string>());
}

/// "2 groups, packed indices, overlap off": what a strategy's options say, where it has some.
std::string strategy_options(const Json& spec) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  const auto has = [&](const char* key) { return !spec.at(key).is_null(); };
  if (has("segments")) add(fmt::format("{} segments a device", spec.at("segments").get<Index>()));
  if (has("compression-rate"))
    add(fmt::format("compression rate {} requested", spec.at("compression-rate").get<double>()));
  if (spec.at("strategy") == "prism" && spec.at("scaling") != "on")
    add("scaling " + spec.at("scaling").get<std::string>());
  if (spec.contains("payload")) add(spec.at("payload").get<std::string>() + " payload");
  if (has("groups"))
    add(fmt::format("{} group{}, {} indices, class token {}", spec.at("groups").get<Index>(),
                    spec.at("groups") == 1 ? "" : "s",
                    spec.at("index-bits") == "16" ? "16-bit" : "packed",
                    spec.at("class-token").get<std::string>()));
  if (has("buffers")) add("buffers " + spec.at("buffers").get<std::string>());
  if (has("overlap")) add(fmt::format("overlap {}", spec.at("overlap").get<bool>() ? "on" : "off"));
  if (has("micro-batches"))
    add(fmt::format("{} micro-batch{} in flight", spec.at("micro-batches").get<int>(),
                    spec.at("micro-batches") == 1 ? "" : "es"));
  return text;
}

/// "8 active (level 2)", or what was chosen.
std::string level_text(const Json& codebook, const Json& spec) {
  const Json& level = spec.at("level");
  if (level.is_number())
    return fmt::format("{} active (level {})", codebook.at("active_codewords").get<Index>(),
                       level.get<int>());
  const Json& bits = codebook.at("mean_index_bits");
  const bool is_coded = spec.at("index-coding") != "fixed";
  return fmt::format("level {}{}", level.get<std::string>(),
                     bits.is_null()
                         ? ""  // nothing was sent
                         : fmt::format(", {:.3g} bits an index in the mean{}", bits.get<double>(),
                                       is_coded ? " before coding" : ""));
}

void print_codebook(const Json& codebook, const Json& spec) {
  const bool is_random = codebook.at("source") == "random";
  fmt::print("  codebook    {}{}: {} codewords, {}", codebook.at("source").get<std::string>(),
             is_random ? " (for timing only, the answer means nothing)" : "",
             codebook.at("codewords").get<Index>(), level_text(codebook, spec));
  const Json& calibration_s = codebook.at("calibration_s");
  if (!calibration_s.is_null() && calibration_s > 0.0)
    fmt::print("; calibrated in {}, once", seconds(calibration_s));
  fmt::print("\n");
}

void print_strategy(const Json& record) {
  const Json& spec = record.at("spec");
  if (spec.at("devices") == 1 && spec.at("strategy") != "pipeline") return;
  if (const std::string options = strategy_options(spec); !options.empty())
    fmt::print("  strategy    {}\n", options);
  if (!record.at("codebook").is_null()) print_codebook(record.at("codebook"), spec);
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
  if (!operations.at("terminal_flops").is_null())
    fmt::print("              {:.2f} {} by the terminal beside them\n",
               operations.at("terminal_flops").get<double>() / size, unit);
}

void print_traffic(const Json& record) {
  const Json& traffic = record.at("traffic");
  const Json& link_bits = traffic.at("link_bits");
  if (link_bits.is_null() || link_bits == 0) return;
  fmt::print("  traffic     ");
  const int exchanges = traffic.at("exchanges");
  const Json& nominal_bits = traffic.at("nominal_bits_per_exchange");
  if (exchanges != 0) fmt::print("{} exchange{}", exchanges, exchanges == 1 ? "" : "s");
  if (!nominal_bits.is_null() && nominal_bits != 0)
    fmt::print(", {} each (nominal, one device)", bits(nominal_bits));
  if (exchanges != 0) fmt::print("; ");
  fmt::print("{} on the link in all", bits(link_bits));
  const Json& rate = traffic.at("compression_rate");
  if (!rate.is_null() && rate.get<double>() > 1)
    fmt::print("; compression {:.2f}", rate.get<double>());
  if (!traffic.at("terminal_wire_bytes").is_null())
    fmt::print("; {} from the terminal", bytes(traffic.at("terminal_wire_bytes")));
  fmt::print("\n{}", losses_line(record));
}

/// Bits that depend on the data; `predict` knows what to expect.
void print_index_coding(const Json& traffic) {
  if (!traffic.contains("index_coding")) return;
  const Json& coding = traffic.at("index_coding");
  fmt::print("  indices     {} coding: ", coding.at("coding").get<std::string>());
  if (!coding.at("counted_bits").is_null())
    fmt::print("{} sent, ", bits(coding.at("counted_bits")));
  fmt::print("{} expected by the tables, at most {} ({} fixed)\n", bits(coding.at("expected_bits")),
             bits(coding.at("worst_case_bits")), bits(coding.at("fixed_bits")));
}

void print_memory(const Json& record) {
  const Json& memory = record.at("memory");
  fmt::print("  memory      {} weights, ", bytes(memory.at("weights_bytes")));
  if (!record.at("codebook").is_null())
    fmt::print("{} codebooks, {} buffers, ", bytes(memory.at("codebooks_bytes")),
               bytes(memory.at("buffers_bytes")));
  fmt::print("{} activations a device (most)", bytes(memory.at("activations_bytes")));
  if (!memory.at("resident_bytes").is_null())
    fmt::print("; {} private a process", bytes(memory.at("resident_bytes")));
  fmt::print("\n");
}

/// Of the clocks on which devices compute at once.
void print_cores(const Json& record) {
  const Json& contended = record.at("time").at("contended");
  if (contended.is_null()) return;
  fmt::print("  cores       ");
  int rank = 0;
  for (const Json& place : record.at("environment").at("placement")) {
    const Json& bound = place.at("bound_cores");
    fmt::print("{}rank {} {}{}", rank == 0 ? "" : "; ", rank,
               bound.is_null() ? "unbound on " : "on ",
               (bound.is_null() ? place.at("allowed_cores") : bound).get<std::string>());
    if (record.at("environment").at("hosts") > 1)
      fmt::print(" of host {}", place.at("host").get<int>());
    ++rank;
  }
  fmt::print("{}\n", contended.get<bool>()
                         ? "\n              CONTENDED: more threads than cores, times are too long"
                         : "");
}

}  // namespace

void print_record(const Json& record) {
  print_heading(record);
  if (record.at("status") != "ok") return;
  print_strategy(record);
  print_operations(record);
  print_traffic(record);
  if (!record.at("traffic").is_null()) print_index_coding(record.at("traffic"));
  print_memory(record);
  print_cores(record);
  print_times(record);
  if (!record.at("answer").is_null()) print_answer(record.at("answer"));
  print_agreement(record);
}

}  // namespace thinwire::cli
