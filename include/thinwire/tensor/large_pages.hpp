#pragma once
#include <cstddef>
#include <memory_resource>

namespace thinwire {

/// Blocks of private memory in pages of 2 MB, where the system has them for who asks
/// (MADV_HUGEPAGE): data that is read over and over, such as packed weights, then costs fewer page
/// faults and address translations. For few and large blocks: each is a mapping of its own; put a
/// std::pmr::monotonic_buffer_resource in front for more. Alignment is at most a small page.
class LargePages final : public std::pmr::memory_resource {
 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;  // throws std::bad_alloc
  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override;
  bool do_is_equal(const memory_resource& other) const noexcept override {
    return dynamic_cast<const LargePages*>(&other) != nullptr;
  }
};

}  // namespace thinwire
