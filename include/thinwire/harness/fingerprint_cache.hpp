#pragma once
#include <functional>
#include <map>
#include <string>

namespace thinwire::harness {

/// Fingerprints of model folders and codebook files, each hashed once in the life of this object:
/// the points of a sweep share a few files of hundreds of MB.
class FingerprintCache {
 public:
  /// What `hash` returned for this key.
  const std::string& get(const std::string& key, const std::function<std::string()>& hash) {
    const auto known = known_.find(key);
    return known != known_.end() ? known->second : known_.emplace(key, hash()).first->second;
  }

 private:
  std::map<std::string, std::string> known_;
};

}  // namespace thinwire::harness
