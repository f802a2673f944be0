#pragma once
#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "thinwire/base/error.hpp"

namespace thinwire {

/// Entries with a `name` each: those that are built in, and those that a program adds. Not for use
/// by several threads while it changes.
template <class Entry>
class Table {
 public:
  explicit Table(std::span<const Entry> built_in) : entries_(built_in.begin(), built_in.end()) {}

  std::span<const Entry> entries() const { return entries_; }

  /// Throws Error when the name is taken.
  void add(const Entry& entry) {
    TW_REQUIRE(find(entry.name) == entries_.end(), "the name {} is taken", entry.name);
    entries_.push_back(entry);
  }
  void remove(std::string_view name) {
    if (const auto entry = find(name); entry != entries_.end()) entries_.erase(entry);
  }

 private:
  auto find(std::string_view name) { return std::ranges::find(entries_, name, &Entry::name); }

  std::vector<Entry> entries_;
};

}  // namespace thinwire
