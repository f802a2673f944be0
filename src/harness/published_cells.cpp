#include "published_access.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

namespace thinwire::harness {
namespace {

using cost::Fraction;
using Value = std::optional<CellValue>;

std::optional<std::int64_t> total_flops(const Json* record) {
  const Json* total = record == nullptr ? nullptr : find_in(*record, "operations", "total_flops");
  if (total == nullptr) return std::nullopt;
  return total->get<std::int64_t>();
}

std::int64_t spec_integer(const CellContext& context, const char* key) {
  return context.record->at("spec").at(key).get<std::int64_t>();
}

bool is_strategy(const CellContext& context, std::string_view name) {
  return context.record->at("spec").at("strategy") == name;
}

/// The same spec as the context's record in what times depend on.
Json same_time_as(const CellContext& context, Json changes) {
  for (const char* key : {"clock", "threads"}) changes[key] = context.record->at("spec").at(key);
  return changes;
}

/// The single device's record of the same table; with `same_time` one whose times can be compared.
const Json* single_record(const CellContext& context, bool same_time) {
  const Json changes{{"strategy", "single"},
                     {"devices", 1},
                     {"segments", nullptr},
                     {"compression-rate", nullptr},
                     {"scaling", nullptr}};
  return sibling(context, same_time ? same_time_as(context, changes) : changes);
}

// ---- operations and traffic -----------------------------------------------------------------

Value gflops_total(const CellContext& context) {
  const auto total = total_flops(context.record);
  if (!total) return std::nullopt;
  return Fraction{*total, 1'000'000'000};
}

Value gflops_per_device(const CellContext& context) {
  const auto total = total_flops(context.record);
  if (!total) return std::nullopt;
  return Fraction{*total, 1'000'000'000 * spec_integer(context, "devices")};
}

Value compute_speedup(const CellContext& context) {
  const auto total = total_flops(context.record);
  const auto single = total_flops(single_record(context, false));
  if (!total || !single) return std::nullopt;
  return cost::speedup_percent(*total, static_cast<int>(spec_integer(context, "devices")), *single);
}

std::optional<double> pdplc(const CellContext& context) {
  const Json* tokens = find_in(*context.record, "traffic", "pdplc_tokens");
  if (tokens == nullptr) return std::nullopt;
  return tokens->get<double>();
}

Value pdplc_tokens(const CellContext& context) {
  const auto tokens = pdplc(context);
  if (!tokens) return std::nullopt;
  return static_cast<double>(cost::printed_tokens(*tokens));
}

/// (P - 1) N / P of the same split.
double voltage_tokens(const CellContext& context) {
  const auto devices = static_cast<double>(spec_integer(context, "devices"));
  return (devices - 1) * static_cast<double>(spec_integer(context, "tokens")) / devices;
}

/// The printed Voltage tokens over the printed PRISM tokens; 1 where nothing is compressed.
Value realised_rate(const CellContext& context) {
  if (!is_strategy(context, "prism")) return 1.0;
  const auto tokens = pdplc(context);
  if (!tokens || cost::printed_tokens(*tokens) == 0) return std::nullopt;
  return cost::table_compression_rate(voltage_tokens(context), *tokens);
}

/// The requested rate where one was requested, else the realised one.
Value compression_rate(const CellContext& context) {
  const Json& requested = context.record->at("spec").at("compression-rate");
  return requested.is_null() ? realised_rate(context) : Value(requested.get<double>());
}

Value comm_speedup(const CellContext& context) {
  const Value rate = compression_rate(context);
  if (!rate) return std::nullopt;
  if (const auto* exact = std::get_if<Fraction>(&*rate))
    return Fraction{100 * (exact->numerator - exact->denominator), exact->numerator};
  return cost::comm_speedup_percent(as_number(*rate));
}

// ---- time ---------------------------------------------------------------------------------------

std::optional<double> single_latency_s(const CellContext& context) {
  const Json* single = single_record(context, true);
  if (single == nullptr) return std::nullopt;
  return median_s(*single, "latency_s", nullptr);  // it uses no link
}

Value latency_reduction(const CellContext& context) {
  const auto single_s = single_latency_s(context);
  const auto latency_s = median_s(*context.record, "latency_s", context.link);
  if (!single_s || !latency_s) return std::nullopt;
  return 100 * (1 - *latency_s / *single_s);
}

Value standing(const CellContext& context) {
  const Value reduction = latency_reduction(context);
  if (!reduction) return std::nullopt;
  return std::string(as_number(*reduction) > 0 ? "faster" : "slower");
}

/// The rate from which the record is faster than the single device, in Mbps. Without overlap,
/// latency is linear in 1 / rate, and so it is interpolated between neighbouring settings.
Value break_even(const CellContext& context) {
  const auto single_s = single_latency_s(context);
  const Json* links = find_in(*context.record, "time", "links");
  if (!single_s || links == nullptr) return std::nullopt;
  struct Point {
    double inverse_rate, latency_s;
  };
  std::vector<Point> points;
  const Json topology = {{"topology", context.link.value("topology", Json("unicast"))}};
  for (const Json& entry : *links) {
    const Json& rate = entry.at("link").at("rate_bit_per_s");
    if (!rate.is_number() || !has_values(entry.at("link"), topology)) continue;
    const Json& latency = entry.at("latency_s").at("p50");
    if (latency.is_number()) points.push_back({1 / rate.get<double>(), latency.get<double>()});
  }
  std::ranges::sort(points, {}, &Point::inverse_rate);  // the fastest link first
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    const auto& [fast, slow] = std::pair(points[i], points[i + 1]);
    if (fast.latency_s >= *single_s || slow.latency_s < *single_s) continue;
    const double part = (*single_s - fast.latency_s) / (slow.latency_s - fast.latency_s);
    return 1e-6 / std::lerp(fast.inverse_rate, slow.inverse_rate, part);
  }
  return std::nullopt;
}

// ---- the scaling-aware softmax over repeated means ---------------------------------------------

const Json* duplicate_record(const CellContext& context, bool same_time) {
  const Json changes{{"scaling", "duplicate"}};
  return sibling(context, same_time ? same_time_as(context, changes) : changes);
}

Value scaling_saving(const CellContext& context) {
  const auto scaled = total_flops(context.record);
  const auto repeated = total_flops(duplicate_record(context, false));
  if (!scaled || !repeated) return std::nullopt;
  return 100 * (1 - static_cast<double>(*scaled) / static_cast<double>(*repeated));
}

Value scaling_time_saving(const CellContext& context) {
  const Json* other = duplicate_record(context, true);
  if (other == nullptr) return std::nullopt;
  const auto scaled_s = median_s(*context.record, "compute_s", nullptr);
  const auto repeated_s = median_s(*other, "compute_s", nullptr);
  if (!scaled_s || !repeated_s) return std::nullopt;
  return 100 * (1 - *scaled_s / *repeated_s);
}

constexpr std::array kQuantities = {
    Quantity{"none", [](const CellContext&) -> Value { return std::nullopt; }},
    Quantity{"gflops_total", gflops_total},
    Quantity{"gflops_per_device", gflops_per_device},
    Quantity{"compute_speedup_percent", compute_speedup},
    Quantity{"pdplc_tokens", pdplc_tokens},
    Quantity{"cr", compression_rate},
    Quantity{"cr_realised", realised_rate},
    Quantity{"comm_speedup_percent", comm_speedup},
    Quantity{"latency_reduction_percent", latency_reduction},
    Quantity{"standing", standing},
    Quantity{"break_even_mbps", break_even},
    Quantity{"scaling_saving_percent", scaling_saving},
    Quantity{"scaling_time_saving_percent", scaling_time_saving}};

const Quantity* find_quantity(std::string_view name) {
  for (const std::span<const Quantity> quantities :
       {std::span<const Quantity>(kQuantities), trace_quantities()}) {
    const auto found = std::ranges::find(quantities, name, &Quantity::name);
    if (found != quantities.end()) return &*found;
  }
  return nullptr;
}

}  // namespace

bool has_values(const Json& object, const Json& match) {
  if (match.is_null()) return true;
  return std::ranges::all_of(match.items(), [&](const auto& wanted) {
    return object.value(wanted.key(), Json(nullptr)) == wanted.value();
  });
}

const Json* find_in(const Json& record, const char* section, const char* key) {
  const auto place = record.find(section);
  if (place == record.end() || !place->is_object()) return nullptr;
  const auto value = place->find(key);
  return value == place->end() || value->is_null() ? nullptr : &*value;
}

std::optional<double> median_s(const Json& record, const char* figure, const Json& link) {
  const Json* links = find_in(record, "time", "links");
  if (links == nullptr) return std::nullopt;
  for (const Json& entry : *links) {
    if (!has_values(entry.at("link"), link) || entry.at(figure).at("p50").is_null()) continue;
    return entry.at(figure).at("p50").get<double>();
  }
  return std::nullopt;
}

const Json* sibling(const CellContext& context, const Json& changes) {
  Json match = context.match;
  for (const auto& change : changes.items()) {
    if (change.value().is_null())
      match.erase(change.key());
    else
      match[change.key()] = change.value();
  }
  return context.index->find(match);
}

const Json* RecordIndex::find(const Json& match) const {
  const Json* found = nullptr;
  for (const Json& record : records_) {
    if (record.value("status", "") != "ok" || !has_values(record.at("spec"), match)) continue;
    const bool is_better =
        found == nullptr || record.at("source") == "measured" || found->at("source") == "predicted";
    if (is_better) found = &record;
  }
  return found;
}

std::optional<CellValue> cell_value(std::string_view quantity, const CellContext& context) {
  return find_quantity(quantity)->compute(context);
}

bool is_known_quantity(std::string_view quantity) {
  return find_quantity(quantity) != nullptr;
}

double as_number(const CellValue& value) {
  if (const auto* fraction = std::get_if<Fraction>(&value)) return fraction->value();
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return std::numeric_limits<double>::quiet_NaN();
}

std::string as_text(const CellValue& value, int decimals) {
  if (const auto* word = std::get_if<std::string>(&value)) return *word;
  const auto* fraction = std::get_if<Fraction>(&value);
  const double rounded = fraction != nullptr ? cost::round_half_up(*fraction, decimals)
                                             : cost::round_half_up(as_number(value), decimals);
  return fmt::format("{:.{}f}", rounded, decimals);
}

}  // namespace thinwire::harness
