#pragma once
#include <cstddef>

namespace thinwire::fabric {

/// Drives everything else out of the last-level cache by writing through a buffer of twice its size
/// (at least 64 MB). Private caches of cores other than the caller's keep their megabyte or two.
/// The buffer belongs to the process: read-only pages never written would all be the same zero page
/// and evict nothing.
class CacheEvictor {
 public:
  /// Throws Error when the buffer cannot be mapped.
  CacheEvictor();
  CacheEvictor(const CacheEvictor&) = delete;
  ~CacheEvictor();

  void evict();

 private:
  std::size_t bytes_;
  volatile unsigned char* buffer_;
  unsigned char round_ = 0;
};

}  // namespace thinwire::fabric
