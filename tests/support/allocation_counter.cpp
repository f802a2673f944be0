#include "support/allocation_counter.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <new>

namespace {

thread_local std::int64_t counted = 0;

/// `caller` is an address of the code that asked for memory.
void count(const void* caller) {
  Dl_info module{};
  const bool is_onednn = dladdr(caller, &module) != 0 && module.dli_fname != nullptr &&
                         std::strstr(module.dli_fname, "libdnnl") != nullptr;
  if (!is_onednn) ++counted;
}

void* checked(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

std::int64_t thinwire::test::allocations() {
  return counted;
}

void* operator new(std::size_t bytes) {
  count(__builtin_return_address(0));
  return checked(std::malloc(bytes > 0 ? bytes : 1));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  count(__builtin_return_address(0));
  return std::malloc(bytes > 0 ? bytes : 1);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  count(__builtin_return_address(0));
  const auto unit = static_cast<std::size_t>(alignment);
  return checked(std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
