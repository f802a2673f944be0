#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "thinwire/base/json_fwd.hpp"
#include "thinwire/base/units.hpp"

namespace thinwire::harness {

/// Shortest texts that their parsers read back as the same value, unlike to_string, which rounds
/// for people.
std::string exact_text(double value);
std::string exact_text(Rate rate);
std::string exact_text(Seconds seconds);
std::string exact_text(Bytes bytes);

/// Whole text or InputError ("not a whole number (write 3)").
long long parse_integer(std::string_view text);
double parse_number(std::string_view text);

/// "a..b" (whole steps of 1), "a..b:lin:n" or "a..b:log:n": n values, both ends included.
struct Range {
  enum class Spacing { step, linear, logarithmic };
  std::string first, last;  ///< as written, unit included
  Spacing spacing = Spacing::step;
  int count = 0;  ///< 0 for steps
};
/// Nothing when `text` has no "..". Throws InputError for a malformed range.
std::optional<Range> parse_range(std::string_view text);
/// The values of a range whose ends mean `first` and `last`. Throws InputError when they are out of
/// order, or not positive where logarithms are taken.
std::vector<double> range_values(const Range& range, double first, double last);
/// Every value of a list of values and ranges, such as "1,2,8..64:log:4"; `parse` reads one of them
/// or an end of a range. Throws InputError, also for an empty list.
std::vector<double> list_values(std::string_view text,
                                const std::function<double(std::string_view)>& parse);

/// A JSON value as the text that a flag would have: numbers in shortest form, booleans as on and
/// off, lists joined by commas. Throws InputError for an object or a nested list.
std::string flag_text(const Json& value);

}  // namespace thinwire::harness
