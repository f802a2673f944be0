#pragma once
#include <functional>
#include <map>
#include <string>
#include <utility>

namespace thinwire::harness {

/// Fingerprints of model folders and codebook files, each hashed once in the life of this object:
/// the points and the ranks of a sweep share a few files of hundreds of MB.
class FingerprintCache {
 public:
  using Known = std::map<std::string, std::string>;

  FingerprintCache() = default;
  /// Of files that another process has hashed.
  explicit FingerprintCache(Known known) : known_(std::move(known)) {}
  const Known& known() const { return known_; }

  /// What `hash` returned for this key.
  const std::string& get(const std::string& key, const std::function<std::string()>& hash) {
    const auto known = known_.find(key);
    return known != known_.end() ? known->second : known_.emplace(key, hash()).first->second;
  }

 private:
  Known known_;
};

}  // namespace thinwire::harness
