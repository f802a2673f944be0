#pragma once
#include <cstddef>
#include <memory>
#include <memory_resource>

namespace thinwire::test {

/// Gives the same places again after rewind(), as the node's memory gives them to every rank.
class SamePlaces final : public std::pmr::memory_resource {
 public:
  explicit SamePlaces(std::size_t bytes) : bytes_(std::make_unique<std::byte[]>(bytes)) {}
  void rewind() { used_ = 0; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    void* place = bytes_.get() + used_;
    std::size_t space = bytes + alignment;
    std::align(alignment, bytes, place, space);
    used_ = static_cast<std::size_t>(static_cast<std::byte*>(place) - bytes_.get()) + bytes;
    return place;
  }
  void do_deallocate(void*, std::size_t, std::size_t) override {}
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::unique_ptr<std::byte[]> bytes_;
  std::size_t used_ = 0;
};

}  // namespace thinwire::test
