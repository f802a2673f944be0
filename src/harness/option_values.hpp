#pragma once
#include <string>
#include <vector>

namespace thinwire::harness {

/// The values that an option takes over the points of a sweep: the parts of a list and the steps of
/// a range, or the text itself where lists belong to one point (Field::expansion).
/// Throws InputError, naming the option.
std::vector<std::string> values_of(const std::string& name, const std::string& text);

}  // namespace thinwire::harness
