#include "option_values.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "thinwire/base/error.hpp"
#include "thinwire/base/text.hpp"
#include "thinwire/harness/run_spec.hpp"
#include "thinwire/harness/spec_text.hpp"

namespace thinwire::harness {
namespace {

/// Whole ends give whole values, so that integer fields take ranges of any spacing.
std::vector<std::string> range_texts(const Range& range) {
  const double first = parse_number(range.first), last = parse_number(range.last);
  const bool is_whole = first == std::floor(first) && last == std::floor(last);
  std::vector<std::string> texts;
  for (const double value : range_values(range, first, last)) {
    std::string text = is_whole ? fmt::format("{:.0f}", value) : exact_text(value);
    if (texts.empty() || texts.back() != text) texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace

std::vector<std::string> values_of(const std::string& name, const std::string& text) {
  const Expansion expansion = find_field(name).expansion;
  if (expansion != Expansion::numbers && expansion != Expansion::names) return {text};
  std::vector<std::string> values;
  for (const std::string& part : split(text, ',')) {
    std::optional<Range> range;
    try {
      if (expansion == Expansion::numbers) range = parse_range(part);
      const std::vector<std::string> more = range ? range_texts(*range) : std::vector{part};
      values.insert(values.end(), more.begin(), more.end());
    } catch (const InputError& error) {
      throw InputError(fmt::format("--{}={}: {}", name, text, error.what()));
    }
  }
  return values;
}

}  // namespace thinwire::harness
