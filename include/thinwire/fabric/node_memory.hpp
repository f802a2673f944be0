#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>

namespace thinwire::fabric {

class MpiSession;
class NodeSegment;

/// How its mappings are called in /proc/<pid>/smaps: "/memfd:<name>".
inline constexpr const char* kNodeMemoryName = "thinwire";

/// Memory that all ranks of a node see: handed out front to back, given back only as a whole. An
/// anonymous memory file, not /dev/shm, whose size containers limit; only touched pages are paid
/// for. Collective over all ranks of the session.
class NodeMemory final : public std::pmr::memory_resource {
 public:
  enum class Places {
    common,  ///< ranks that make the same requests in the same order get the same places
    own,     ///< every rank has `reserve_bytes` of its own, for its part of what the node holds
  };

  /// Throws Error when the memory cannot be made or attached.
  NodeMemory(MpiSession& session, std::int64_t reserve_bytes, Places places = Places::common);
  NodeMemory(const NodeMemory&) = delete;
  ~NodeMemory() override;

  /// True on the one rank of the node that writes; the others attach.
  bool is_writer() const { return is_writer_; }
  /// Of these places.
  std::int64_t used_bytes() const { return used_bytes_; }

 private:
  /// Throws Error when the reserve is used up. Alignment is at most a page.
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void*, std::size_t, std::size_t) override {}
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::unique_ptr<NodeSegment> segment_;
  std::int64_t begin_, reserve_bytes_;
  std::int64_t used_bytes_ = 0;
  bool is_writer_ = false;
};

}  // namespace thinwire::fabric
