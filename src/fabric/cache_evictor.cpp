#include "fabric/cache_evictor.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "thinwire/base/error.hpp"

namespace thinwire::fabric {
namespace {

constexpr std::size_t kLeastBytes = std::size_t{64} << 20;
constexpr std::size_t kCacheLine = 64;

/// The last level's size as the kernel knows it; sysconf adds up all that a virtual machine shows.
std::size_t last_level_bytes() {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index3/size");
  std::size_t kibibytes = 0;
  file >> kibibytes;  // "32768K"; 0 where unknown
  return kibibytes * 1024;
}

std::size_t buffer_bytes() {
  return std::max(kLeastBytes, 2 * last_level_bytes());
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
