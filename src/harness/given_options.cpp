#include "given_options.hpp"

#include <optional>

namespace thinwire::harness {

void GivenOptions::samples(const std::string& name, SampleRange& range) const {
  with(name, [&](std::string_view text) {
    const std::optional<Range> given = parse_range(text);
    range.first = parse_integer(given ? std::string_view(given->first) : text);
    range.last = parse_integer(given ? std::string_view(given->last) : text);
    require_input((!given || given->spacing == Range::Spacing::step) && range.first >= 0 &&
                      range.last >= range.first,
                  "samples FIRST..LAST, counted from 0 (write 0..999)");
  });
}

}  // namespace thinwire::harness
