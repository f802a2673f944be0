#include "given_options.hpp"

#include "field_values.hpp"

namespace thinwire::harness {

void GivenOptions::samples(const std::string& name, SampleRange& range) const {
  with(name, [&](std::string_view text) { parse_value(text, range); });
}

}  // namespace thinwire::harness
