#include "thinwire/base/units.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>

#include "thinwire/base/error.hpp"

namespace thinwire {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

/// What a quantity is called in messages, and how it can be written.
struct Grammar {
  std::string_view quantity;
  std::string_view right;  ///< examples
  std::span<const Unit> units;
};

constexpr double kKibi = 1024, kMebi = kKibi * kKibi, kGibi = kMebi * kKibi, kTebi = kGibi * kKibi;

constexpr std::array<Unit, 7> kRatePrefixes = {
    {{"", 1}, {"k", 1e3}, {"m", 1e6}, {"g", 1e9}, {"ki", kKibi}, {"mi", kMebi}, {"gi", kGibi}}};
constexpr std::array<std::string_view, 5> kPerSecond = {"bps", "bit/s", "Bit/s", "bits/s", "b/s"};
constexpr Grammar kRate = {"rate", "10Mbps, 250kbps or unlimited", {}};

constexpr std::array<Unit, 7> kTimeUnits = {{{"ns", 1e-9},
                                             {"us", 1e-6},
                                             {"\u00b5s", 1e-6},
                                             {"ms", 1e-3},
                                             {"s", 1},
                                             {"min", 60},
                                             {"h", 3600}}};
constexpr Grammar kTime = {"time", "2ms, 150us or 1.5s", kTimeUnits};

constexpr std::array<Unit, 10> kSizeUnits = {{{"B", 1},
                                              {"kB", 1e3},
                                              {"KB", 1e3},
                                              {"MB", 1e6},
                                              {"GB", 1e9},
                                              {"TB", 1e12},
                                              {"KiB", kKibi},
                                              {"MiB", kMebi},
                                              {"GiB", kGibi},
                                              {"TiB", kTebi}}};
constexpr Grammar kSize = {"size", "512MB, 1.5GiB or 64kB", kSizeUnits};

[[noreturn]] void refuse(const Grammar& grammar, std::string_view text, std::string_view reason) {
  throw InputError(
      fmt::format("{}={} {} (write {})", grammar.quantity, text, reason, grammar.right));
}

std::string_view trim(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

struct Parts {
  double number;
  std::string_view unit;  ///< may be empty
};

Parts split_number(const Grammar& grammar, std::string_view text) {
  const std::string_view trimmed = trim(text);
  // from_chars would also take "inf" and "nan".
  const auto digit = trimmed.find_first_not_of("-.");
  if (digit > 2 || trimmed[digit] < '0' || trimmed[digit] > '9')  // npos is above 2, too
    refuse(grammar, text, fmt::format("is not a {}", grammar.quantity));
  Parts parts{};
  const char* const last = trimmed.data() + trimmed.size();
  const auto [end, error] = std::from_chars(trimmed.data(), last, parts.number);
  if (error == std::errc::result_out_of_range)
    refuse(grammar, text, "is out of the range of numbers");
  if (error != std::errc{}) refuse(grammar, text, fmt::format("is not a {}", grammar.quantity));
  parts.unit = trim(std::string_view(end, static_cast<std::size_t>(last - end)));
  return parts;
}

/// The factor of a unit that needs no spelling rules; refuses an unknown one.
double find_factor(const Grammar& grammar, std::string_view text, std::string_view unit) {
  if (unit.empty()) refuse(grammar, text, "has no unit");
  for (const Unit& known : grammar.units)
    if (known.name == unit) return known.factor;
  refuse(grammar, text, fmt::format("has the unknown unit {}", unit));
}

/// Any case of the prefix will do: nobody means millibits. "B" stays refused, it means bytes.
double rate_factor(std::string_view text, std::string_view unit) {
  if (unit.empty()) refuse(kRate, text, "has no unit");
  for (const std::string_view tail : kPerSecond) {
    if (!unit.ends_with(tail)) continue;
    std::string prefix(unit.substr(0, unit.size() - tail.size()));
    for (char& c : prefix)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    for (const Unit& known : kRatePrefixes)
      if (known.name == prefix) return known.factor;
  }
  if (unit.ends_with("Bps") || unit.ends_with("B/s"))
    refuse(kRate, text, "is in bytes, a rate is in bits");
  refuse(kRate, text, fmt::format("has the unknown unit {}", unit));
}

/// Of any sign, finite.
double bit_per_s_in(std::string_view text) {
  const auto [number, unit] = split_number(kRate, text);
  const double bit_per_s = number * rate_factor(text, unit);
  if (std::isinf(bit_per_s)) refuse(kRate, text, "is out of the range of numbers");
  return bit_per_s;
}

struct Scale {
  std::string_view unit;
  double factor;
};

/// Three digits with the smallest unit that keeps the number below 1000.
std::string three_digits(double value, std::span<const Scale> scales) {
  for (const Scale& scale : scales)
    if (value / scale.factor < 999.5)
      return fmt::format("{:.3g} {}", value / scale.factor, scale.unit);
  return fmt::format("{:.0f} {}", value / scales.back().factor, scales.back().unit);
}

}  // namespace

Rate Rate::unlimited() {
  return Rate(std::numeric_limits<double>::infinity());
}

Rate Rate::bits_per_second(double bit_per_s) {
  require_input(bit_per_s > 0, "rate={} bit/s is not positive", bit_per_s);
  return Rate(bit_per_s);
}

Rate Rate::parse(std::string_view text) {
  if (trim(text) == "unlimited") return unlimited();
  const double bit_per_s = bit_per_s_in(text);
  if (!(bit_per_s > 0)) refuse(kRate, text, "is not positive");
  return Rate(bit_per_s);
}

double parse_bit_per_s(std::string_view text) {
  if (trim(text) == "0") return 0;
  const double bit_per_s = bit_per_s_in(text);
  if (std::signbit(bit_per_s)) refuse(kRate, text, "is negative");
  return bit_per_s;
}

bool Rate::is_unlimited() const {
  return std::isinf(bit_per_s_);
}

double Rate::seconds_for(double bits) const {
  return is_unlimited() ? 0 : bits / bit_per_s_;
}

std::string to_string(Rate rate) {
  if (rate.is_unlimited()) return "unlimited";
  constexpr std::array<Scale, 3> kScales = {{{"Gbps", 1e9}, {"Mbps", 1e6}, {"kbps", 1e3}}};
  for (const auto& [unit, factor] : kScales) {
    if (rate.bit_per_s() < factor) continue;
    std::string text = fmt::format("{} {}", rate.bit_per_s() / factor, unit);
    // Where the division rounds, a smaller unit keeps the value.
    if (Rate::parse(text) == rate) return text;
  }
  return fmt::format("{} bps", rate.bit_per_s());
}

Seconds Seconds::parse(std::string_view text) {
  const auto [number, unit] = split_number(kTime, text);
  if (std::signbit(number)) refuse(kTime, text, "is negative");
  if (number == 0 && unit.empty()) return Seconds(0);
  const double value_s = number * find_factor(kTime, text, unit);
  if (std::isinf(value_s)) refuse(kTime, text, "is out of the range of numbers");
  return Seconds(value_s);
}

std::string to_string(Seconds seconds) {
  const double value_s = seconds.value_s();
  if (value_s < 0) return fmt::format("-{}", to_string(Seconds(-value_s)));
  if (value_s == 0 || !std::isfinite(value_s)) return fmt::format("{} s", value_s);
  constexpr std::array<Scale, 4> kScales = {{{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}}};
  if (value_s < 59.95) return three_digits(value_s, kScales);
  // A double holds what no 64-bit integer does; nobody waits that long.
  if (value_s > 1e15) return fmt::format("{:.3g} s", value_s);
  const std::int64_t whole_s = std::llround(value_s);
  if (whole_s < 3600) return fmt::format("{} min {} s", whole_s / 60, whole_s % 60);
  const std::int64_t minutes = std::llround(value_s / 60);
  return fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

Bytes Bytes::parse(std::string_view text) {
  const auto [number, unit] = split_number(kSize, text);
  if (std::signbit(number)) refuse(kSize, text, "is negative");
  const double count = number * find_factor(kSize, text, unit);
  if (!(count < 0x1p63)) refuse(kSize, text, "is out of the range of numbers");
  return Bytes(std::llround(count));
}

std::string to_string(Bytes bytes) {
  constexpr std::array<Scale, 5> kScales = {
      {{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}}};
  const auto count = static_cast<double>(bytes.count());
  return fmt::format("{}{}", count < 0 ? "-" : "", three_digits(std::abs(count), kScales));
}

}  // namespace thinwire
