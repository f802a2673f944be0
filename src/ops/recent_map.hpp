#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "thinwire/base/error.hpp"

namespace thinwire::ops {

/// Values by key; of more than `capacity` those that were not used for longest are dropped, so that
/// inputs of ever new sizes do not fill the memory. Finding allocates nothing, and several threads
/// may find at once; inserting needs the map alone.
template <class Key, class Value>
class RecentMap {
 public:
  explicit RecentMap(std::size_t capacity) : capacity_(capacity) {
    TW_REQUIRE(capacity >= 2, "room for {} values: two that were just found must both stay",
               capacity);
  }

  /// Null when there is none, or no longer. Valid until the value is dropped.
  Value* find(const Key& key) const {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return nullptr;
    found->second.used = ++now_;
    return &found->second.value;
  }

  /// In place of the one that was not used for longest, where there is no room.
  Value& insert(const Key& key, Value value) {
    if (entries_.size() >= capacity_)
      entries_.erase(std::ranges::min_element(
          entries_, {}, [](const auto& entry) { return entry.second.used.load(); }));
    return entries_.try_emplace(key, std::move(value), ++now_).first->second.value;
  }

  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Entry(Value made, std::uint64_t now) : value(std::move(made)), used(now) {}
    Value value;
    std::atomic<std::uint64_t> used;
  };

  std::size_t capacity_;
  mutable std::atomic<std::uint64_t> now_ = 0;
  mutable std::map<Key, Entry> entries_;
};

}  // namespace thinwire::ops
