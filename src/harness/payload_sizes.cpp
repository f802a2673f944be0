#include "thinwire/harness/payload_sizes.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "thinwire/base/error.hpp"
#include "thinwire/base/text.hpp"
#include "thinwire/base/units.hpp"
#include "thinwire/harness/spec_text.hpp"

namespace thinwire::harness {
namespace {

// Far more than a link is tried with, and well within what doubles hold exactly.
constexpr double kMaxBits = 8e12;

/// "107bit", or a size in bytes.
double parse_bits(std::string_view text) {
  double bits = 0;
  if (text.ends_with("bit")) {
    std::string_view number = text.substr(0, text.size() - 3);
    while (number.ends_with(' ')) number.remove_suffix(1);
    bits = parse_number(number);
  } else {
    bits = 8 * static_cast<double>(Bytes::parse(text).count());
  }
  require_input(bits >= 1, "{} is less than a bit (write 107bit, 14B or 300kB)", text);
  require_input(bits <= kMaxBits, "{} is more than a terabyte", text);
  return bits;
}

}  // namespace

std::vector<std::int64_t> parse_payload_sizes(std::string_view text) {
  for (const std::string& part : split(text, ','))
    if (const auto range = parse_range(part))
      require_input(range->spacing != Range::Spacing::step,
                    "a range of sizes says how many (write {}..{}:log:10)", range->first,
                    range->last);
  std::vector<std::int64_t> sizes;
  for (const double bits : list_values(text, parse_bits)) {
    // What logarithms leave behind the point is no bit more.
    const auto whole_bits = static_cast<std::int64_t>(std::llround(bits));
    const std::int64_t bytes = (whole_bits + 7) / 8;
    if (std::ranges::find(sizes, bytes) == sizes.end()) sizes.push_back(bytes);
  }
  return sizes;
}

}  // namespace thinwire::harness
