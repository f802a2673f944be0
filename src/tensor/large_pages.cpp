#include "thinwire/tensor/large_pages.hpp"

#include <sys/mman.h>

#include <new>

#include "thinwire/base/error.hpp"

namespace thinwire {
namespace {

constexpr std::size_t kSmallPageBytes = 4096;

}  // namespace

void* LargePages::do_allocate(std::size_t bytes, std::size_t alignment) {
  TW_REQUIRE(alignment <= kSmallPageBytes, "alignment {} (at most {})", alignment, kSmallPageBytes);
  void* const block =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) throw std::bad_alloc();
  ::madvise(block, bytes, MADV_HUGEPAGE);  // advice only: small pages hold the same
  return block;
}

void LargePages::do_deallocate(void* p, std::size_t bytes, std::size_t /*alignment*/) {
  ::munmap(p, bytes);
}

}  // namespace thinwire
