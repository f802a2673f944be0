#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace thinwire {

/// A link's rate in bit/s; unlimited() is +infinity and prints as "unlimited".
class Rate {
 public:
  static Rate unlimited();
  /// Throws InputError unless bit_per_s > 0.
  static Rate bits_per_second(double bit_per_s);
  /// "10Mbps", "2.5 Gbps", "250kbit/s", "10Mibps" (binary), "unlimited". The unit is required.
  /// Throws InputError that quotes `text` and shows a right one.
  static Rate parse(std::string_view text);

  bool is_unlimited() const;
  double bit_per_s() const { return bit_per_s_; }
  /// Seconds for `bits`; 0 when unlimited.
  double seconds_for(double bits) const;
  auto operator<=>(const Rate&) const = default;

 private:
  explicit Rate(double bit_per_s) : bit_per_s_(bit_per_s) {}
  double bit_per_s_;
};
std::string to_string(Rate rate);
/// As Rate::parse, in bit/s, of a link that may be down: "0bps" or a bare 0; never unlimited.
double parse_bit_per_s(std::string_view text);

/// A duration in seconds. parse(): "2ms", "150us", "1.5s", "0s"; a bare 0 is accepted.
class Seconds {
 public:
  constexpr Seconds() = default;
  constexpr explicit Seconds(double value_s) : value_s_(value_s) {}
  static Seconds parse(std::string_view text);
  constexpr double value_s() const { return value_s_; }
  auto operator<=>(const Seconds&) const = default;

 private:
  double value_s_ = 0;
};
std::string to_string(Seconds seconds);  // "1.5 ms", "32 us", "2 min 3 s": three digits

/// A size in bytes. parse(): "512MB", "1.5GiB", "64kB", "1000000B"; the unit is required.
class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(std::int64_t count) : count_(count) {}
  static Bytes parse(std::string_view text);
  constexpr std::int64_t count() const { return count_; }
  auto operator<=>(const Bytes&) const = default;

 private:
  std::int64_t count_ = 0;
};
std::string to_string(Bytes bytes);  // decimal prefixes, three digits: "344 MB"

}  // namespace thinwire
