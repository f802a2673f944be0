#pragma once
#include <cstdint>
#include <memory_resource>

namespace thinwire {

/// Passes allocations on to `upstream` and knows how many bytes are held: what a device's
/// workspace really takes, to be compared with the prediction. Not thread-safe.
class TrackingResource final : public std::pmr::memory_resource {
 public:
  explicit TrackingResource(std::pmr::memory_resource* upstream = std::pmr::new_delete_resource())
      : upstream_(upstream) {}
  std::int64_t held_bytes() const { return held_bytes_; }
  std::int64_t allocations() const { return allocations_; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* p, std::size_t bytes, std::size_t alignment) override;
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::pmr::memory_resource* upstream_;
  std::int64_t held_bytes_ = 0;
  std::int64_t allocations_ = 0;
};

}  // namespace thinwire
