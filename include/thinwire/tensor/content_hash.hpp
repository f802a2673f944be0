#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace thinwire {

/// FNV-1a's multiply and exclusive-or over 8 bytes a step, in four independent lanes, so that a
/// file is hashed as fast as it is read. Not FNV-1a's own values, and not cryptographic.
class ContentHash {
 public:
  void add(std::span<const std::byte> bytes);
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace thinwire
