#include "fabric/cache_evictor.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "thinwire/base/error.hpp"

namespace thinwire::fabric {
namespace {

constexpr std::size_t kLeastBytes = std::size_t{64} << 20;
constexpr std::size_t kCacheLine = 64;

std::size_t buffer_bytes() {
  const long last_level = ::sysconf(_SC_LEVEL3_CACHE_SIZE);  // 0 or -1 where unknown
  return std::max(kLeastBytes, 2 * static_cast<std::size_t>(std::max(0L, last_level)));
}

}  // namespace

CacheEvictor::CacheEvictor() : bytes_(buffer_bytes()) {
  void* const mapped =
      ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED)
    throw Error(fmt::format("cold-weights needs {} MB to evict the caches: {}", bytes_ >> 20,
                            std::strerror(errno)));
  buffer_ = static_cast<volatile unsigned char*>(mapped);
}

CacheEvictor::~CacheEvictor() {
  ::munmap(const_cast<unsigned char*>(buffer_), bytes_);
}

void CacheEvictor::evict() {
  ++round_;
  for (std::size_t offset = 0; offset < bytes_; offset += kCacheLine) buffer_[offset] = round_;
}

}  // namespace thinwire::fabric
