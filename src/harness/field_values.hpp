#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "thinwire/base/error.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/base/text.hpp"
#include "thinwire/harness/run_spec.hpp"
#include "thinwire/harness/spec_text.hpp"

// What stands behind an option's name, by the type of the member of RunSpec that it fills.
namespace thinwire::harness {

// ---- from text; all throw InputError with the reason -----------------------------------------

inline void parse_value(std::string_view text, std::string& value) {
  value = text;
}

template <class Integer>
requires(std::is_integral_v<Integer> &&
         !std::is_same_v<Integer, bool>) void parse_value(std::string_view text, Integer& value) {
  const long long number = parse_integer(text);
  require_input(std::in_range<Integer>(number), "outside {} to {}",
                std::numeric_limits<Integer>::min(), std::numeric_limits<Integer>::max());
  value = static_cast<Integer>(number);
}

void parse_value(std::string_view text, double& value);
void parse_value(std::string_view text, bool& value);
void parse_value(std::string_view text, Seconds& value);
void parse_value(std::string_view text, Bytes& value);
void parse_value(std::string_view text, PartitionPolicy& value);
void parse_value(std::string_view text, DType& value);
void parse_value(std::string_view text, Convention& value);
void parse_value(std::string_view text, compress::Scaling& value);
void parse_value(std::string_view text, compress::RowFormat& value);
void parse_value(std::string_view text, compress::IndexBits& value);
void parse_value(std::string_view text, compress::IndexCoding& value);
void parse_value(std::string_view text, compress::Buffers& value);
void parse_value(std::string_view text, strategy::ClassToken& value);
void parse_value(std::string_view text, strategy::Io& value);
void parse_value(std::string_view text, strategy::Collect& value);
void parse_value(std::string_view text, fabric::Clock& value);
void parse_value(std::string_view text, fabric::Topology& value);
void parse_value(std::string_view text, fabric::PacketOverhead& value);
void parse_value(std::string_view text, fabric::OnLoss& value);
/// "0..999", or one number.
void parse_value(std::string_view text, SampleRange& value);

/// Link settings: each a rate, a rate a device ("10Mbps:1Mbps"), or a range of rates. Values
/// inside a range are rounded to whole bit/s, so that they can be written down.
void parse_value(std::string_view text, std::vector<std::vector<Rate>>& settings);

/// Names of files of traces (rate_trace.hpp).
void parse_value(std::string_view text, std::vector<fabric::RateTrace>& traces);

template <class T>
void parse_value(std::string_view text, std::optional<T>& value) {
  parse_value(text, value.emplace());
}

template <class T>
void parse_value(std::string_view text, std::vector<T>& values) {
  values.clear();
  for (const std::string& part : split(text, ',')) parse_value(part, values.emplace_back());
}

// ---- and back, for records ------------------------------------------------------------------

/// The file's name.
Json value_json(const fabric::RateTrace& trace);

template <class T>
Json value_json(const T& value) {
  if constexpr (std::is_same_v<T, SampleRange>)
    return Json::array({value.first, value.last});
  else if constexpr (std::is_enum_v<T>)
    return std::string(to_string(value));
  else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>)
    return value;
  else
    return exact_text(value);
}

template <class T>
Json value_json(const std::optional<T>& value) {
  return value ? value_json(*value) : Json(nullptr);
}

template <class T>
Json value_json(const std::vector<T>& values) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(value_json(value));
  return list;
}

Json value_json(const std::vector<std::vector<Rate>>& settings);
Json value_json(const fabric::PacketOverhead& overhead);

}  // namespace thinwire::harness
