#include "thinwire/harness/spec_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "thinwire/base/error.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/base/text.hpp"

namespace thinwire::harness {
namespace {

struct Unit {
  double size;
  std::string_view name;
};

/// The largest unit of which there is at least one, if the text survives parsing; else `last`, the
/// unit of size 1.
template <class Value, class Parse>
std::string with_unit(double value, std::span<const Unit> units, Value exact, Parse parse) {
  for (const Unit& unit : units) {
    if (value < unit.size) continue;
    std::string text = fmt::format("{}{}", value / unit.size, unit.name);
    if (parse(text) == exact) return text;
  }
  return fmt::format("{}{}", value, units.back().name);
}

template <class Number>
std::optional<Number> whole_text(std::string_view text) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

}  // namespace

std::string exact_text(double value) {
  return fmt::format("{}", value);
}

std::string exact_text(Rate rate) {
  std::string text = to_string(rate);  // exact, but with a space before the unit
  std::erase(text, ' ');
  return text;
}

std::string exact_text(Seconds seconds) {
  if (seconds.value_s() == 0) return "0s";
  static constexpr std::array<Unit, 4> kUnits{{{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1, "s"}}};
  return with_unit(seconds.value_s(), kUnits, seconds, Seconds::parse);
}

std::string exact_text(Bytes bytes) {
  static constexpr std::array<Unit, 4> kUnits{{{1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}}};
  return with_unit(static_cast<double>(bytes.count()), kUnits, bytes, Bytes::parse);
}

long long parse_integer(std::string_view text) {
  const auto value = whole_text<long long>(text);
  require_input(value.has_value(), "not a whole number (write 3)");
  return *value;
}

double parse_number(std::string_view text) {
  const auto value = whole_text<double>(text);
  require_input(value.has_value() && std::isfinite(*value), "not a number (write 2.5)");
  return *value;
}

std::optional<Range> parse_range(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  constexpr std::string_view kForms = "a range is 2..10, 1Mbps..1000Mbps:log:10 or 2..10:lin:5";
  const std::vector<std::string> parts = split(text.substr(dots + 2), ':');
  Range range{std::string(text.substr(0, dots)), parts.front(), Range::Spacing::step, 0};
  require_input(!range.first.empty() && !range.last.empty(), "'{}' lacks an end ({})", text,
                kForms);
  if (parts.size() == 1) return range;
  require_input(parts.size() == 3 && (parts[1] == "lin" || parts[1] == "log"),
                "'{}' is not understood ({})", text, kForms);
  range.spacing = parts[1] == "lin" ? Range::Spacing::linear : Range::Spacing::logarithmic;
  const auto count = whole_text<int>(parts[2]);
  require_input(count && *count >= 2 && *count <= 100'000,
                "'{}' has {} values (2 to 100000 are right, both ends included)", text, parts[2]);
  range.count = *count;
  return range;
}

std::vector<double> range_values(const Range& range, double first, double last) {
  require_input(first < last, "the range {}..{} must ascend", range.first, range.last);
  std::vector<double> values;
  if (range.spacing == Range::Spacing::step) {
    require_input(last - first < 100'000, "the range {}..{} has more than 100000 values",
                  range.first, range.last);
    for (double value = first; value <= last; value += 1) values.push_back(value);
    return values;
  }
  const bool is_log = range.spacing == Range::Spacing::logarithmic;
  require_input(!is_log || first > 0, "the range {}..{}:log must begin above 0", range.first,
                range.last);
  for (int i = 0; i < range.count; ++i) {
    const double part = static_cast<double>(i) / (range.count - 1);
    values.push_back(is_log ? first * std::pow(last / first, part) : std::lerp(first, last, part));
  }
  values.back() = last;
  return values;
}

std::vector<double> list_values(std::string_view text,
                                const std::function<double(std::string_view)>& parse) {
  std::vector<double> values;
  for (const std::string& part : split(text, ',')) {
    const std::optional<Range> range = parse_range(part);
    const std::vector<double> more =
        range ? range_values(*range, parse(range->first), parse(range->last))
              : std::vector{parse(part)};
    values.insert(values.end(), more.begin(), more.end());
  }
  return values;
}

std::string flag_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "on" : "off";
  if (value.is_number_float()) return exact_text(value.get<double>());
  if (value.is_number()) return value.dump();
  require_input(value.is_array(), "a value or a list of values is expected here, not {}",
                value.dump());
  std::string text;
  for (const Json& element : value) {
    require_input(!element.is_structured() && !element.is_null(), "a list of lists: {}",
                  value.dump());
    if (!text.empty()) text += ',';
    text += flag_text(element);
  }
  return text;
}

}  // namespace thinwire::harness
