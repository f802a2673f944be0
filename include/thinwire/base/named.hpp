#pragma once
#include <iterator>
#include <string_view>
#include <vector>

#include "thinwire/base/text.hpp"

namespace thinwire {

/// The entry called `name` of a table whose entries have a `name`, such as the strategies.
/// Throws InputError as name_index does.
template <class Table>
const auto& find_named(std::string_view what, std::string_view name, const Table& table) {
  std::vector<std::string_view> names;
  for (const auto& entry : table) names.push_back(entry.name);
  return *std::next(std::begin(table), static_cast<std::ptrdiff_t>(name_index(what, name, names)));
}

}  // namespace thinwire
