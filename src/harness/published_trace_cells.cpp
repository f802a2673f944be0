#include <algorithm>
#include <array>
#include <vector>

#include "published_access.hpp"

namespace thinwire::harness {
namespace {

using Value = std::optional<CellValue>;
using Number = std::optional<double>;

constexpr double kMebibyte = 1 << 20;

Number number_in(const Json* record, const char* section, const char* key) {
  const Json* value = record == nullptr ? nullptr : find_in(*record, section, key);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->get<double>();
}

Value scaled(const Number& number, double factor) {
  if (!number) return std::nullopt;
  return *number * factor;
}

/// 100 (1 - a / b)
Value saving_percent(const Number& a, const Number& b) {
  if (!a || !b || *b == 0) return std::nullopt;
  return 100 * (1 - *a / *b);
}

Value ratio(const Number& a, const Number& b) {
  if (!a || !b || *b == 0) return std::nullopt;
  return *a / *b;
}

// ---- bits ------------------------------------------------------------------------------------

Value bits_per_exchange(const CellContext& context) {
  return number_in(context.record, "traffic", "nominal_bits_per_exchange");
}
Value bits_first_exchange(const CellContext& context) {
  return number_in(context.record, "traffic", "nominal_bits_first_exchange");
}
Value bits_per_inference(const CellContext& context) {
  return number_in(context.record, "traffic", "nominal_bits_per_inference");
}

Number compression(const Json* record) {
  return number_in(record, "traffic", "compression_rate");
}
Value compression_ratio(const CellContext& context) {
  return compression(context.record);
}

/// The ASTRA that TRACE compares with: one group, 16-bit indices.
const Json* astra_record(const CellContext& context) {
  return sibling(context, {{"strategy", "astra"},
                           {"codewords", 1024},
                           {"groups", 1},
                           {"index-bits", "16"},
                           {"class-token", "partitioned"},
                           {"active-codewords", nullptr},
                           {"buffers", nullptr},
                           {"segments", nullptr}});
}
Value compression_over_astra(const CellContext& context) {
  return ratio(compression(context.record), compression(astra_record(context)));
}

/// How far the ratios of P = 2, 4 and 10 are apart, of the smallest.
Value compression_spread(const CellContext& context) {
  std::vector<double> ratios;
  for (const int devices : {2, 4, 10}) {
    const Number value = compression(sibling(context, {{"devices", devices}}));
    if (!value) return std::nullopt;
    ratios.push_back(*value);
  }
  const auto [least, most] = std::ranges::minmax(ratios);
  return 100 * (most / least - 1);
}

// ---- time ------------------------------------------------------------------------------------

template <const char* const& figure>
Value milliseconds(const CellContext& context) {
  return scaled(median_s(*context.record, figure, context.link), 1e3);
}
constexpr const char* kLatency = "latency_s";
constexpr const char* kCompute = "compute_s";
constexpr const char* kWait = "wait_s";
constexpr const char* kSkew = "skew_s";
constexpr const char* kHidden = "hidden_s";

/// The paper's formula: the exchanges' bits over the rate.
Value communication_ms(const CellContext& context) {
  const Json* links = find_in(*context.record, "time", "links");
  const Json* formula = find_in(*context.record, "time", "nominal_communication_s");
  if (links == nullptr || formula == nullptr) return std::nullopt;
  for (std::size_t i = 0; i < links->size() && i < formula->size(); ++i)
    if (has_values(links->at(i).at("link"), context.link) && formula->at(i).is_number())
      return 1e3 * formula->at(i).get<double>();
  return std::nullopt;
}

Value communication_share(const CellContext& context) {
  const Number wait_s = median_s(*context.record, "wait_s", context.link);
  const Number latency_s = median_s(*context.record, "latency_s", context.link);
  if (!wait_s || !latency_s) return std::nullopt;
  return 100 * *wait_s / *latency_s;
}

Value speedup_over_astra(const CellContext& context) {
  const Json* astra = astra_record(context);
  if (astra == nullptr) return std::nullopt;
  return ratio(median_s(*astra, kLatency, context.link),
               median_s(*context.record, kLatency, context.link));
}
Value operations_under_astra(const CellContext& context) {
  return ratio(number_in(astra_record(context), "operations", "block_flops"),
               number_in(context.record, "operations", "block_flops"));
}

// ---- buffers and storage -----------------------------------------------------------------------

Value operations_saving(const CellContext& context, const char* instead) {
  return saving_percent(
      number_in(context.record, "operations", "block_flops"),
      number_in(sibling(context, {{"buffers", instead}}), "operations", "block_flops"));
}
Value time_saving(const CellContext& context, const char* instead) {
  const Json* other = sibling(context, {{"buffers", instead}});
  if (other == nullptr) return std::nullopt;
  return saving_percent(median_s(*context.record, kCompute, context.link),
                        median_s(*other, kCompute, context.link));
}

Value memory(const CellContext& context, const char* part, double unit) {
  return scaled(number_in(context.record, "memory", part), 1 / unit);
}

constexpr std::array kQuantities = {
    Quantity{"bits_per_exchange", bits_per_exchange},
    Quantity{"bits_first_exchange", bits_first_exchange},
    Quantity{"bits_per_inference", bits_per_inference},
    Quantity{"compression_ratio", compression_ratio},
    Quantity{"compression_over_astra", compression_over_astra},
    Quantity{"compression_spread_percent", compression_spread},
    Quantity{"latency_ms", milliseconds<kLatency>},
    Quantity{"compute_ms", milliseconds<kCompute>},
    Quantity{"wait_ms", milliseconds<kWait>},
    Quantity{"skew_ms", milliseconds<kSkew>},
    Quantity{"hidden_ms", milliseconds<kHidden>},
    Quantity{"communication_ms", communication_ms},
    Quantity{"communication_share_percent", communication_share},
    Quantity{"speedup_over_astra", speedup_over_astra},
    Quantity{"operations_under_astra", operations_under_astra},
    Quantity{"buffers_saving_off",
             [](const CellContext& c) { return operations_saving(c, "off"); }},
    Quantity{"buffers_saving_hidden",
             [](const CellContext& c) { return operations_saving(c, "hidden"); }},
    Quantity{"buffers_time_saving_off", [](const CellContext& c) { return time_saving(c, "off"); }},
    Quantity{"buffers_time_saving_hidden",
             [](const CellContext& c) { return time_saving(c, "hidden"); }},
    Quantity{"buffers_mib",
             [](const CellContext& c) { return memory(c, "buffers_bytes", kMebibyte); }},
    Quantity{"codebooks_mib",
             [](const CellContext& c) { return memory(c, "codebooks_bytes", kMebibyte); }},
    Quantity{"weights_mb", [](const CellContext& c) { return memory(c, "weights_bytes", 1e6); }}};

}  // namespace

std::span<const Quantity> trace_quantities() {
  return kQuantities;
}

}  // namespace thinwire::harness
