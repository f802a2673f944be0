#include "thinwire/fabric/node_memory.hpp"

#include <sys/mman.h>

#include "fabric/mpi_session_impl.hpp"
#include "fabric/node_segment.hpp"
#include "thinwire/base/error.hpp"

namespace thinwire::fabric {
namespace {

constexpr std::size_t kPageBytes = 4096;

}  // namespace

NodeMemory::NodeMemory(MpiSession& session, std::int64_t reserve_bytes, Places places)
    : segment_(std::make_unique<NodeSegment>(
          session.impl_->node,
          places == Places::own ? session.node_size() * reserve_bytes : reserve_bytes)),
      begin_(places == Places::own ? session.node_rank() * reserve_bytes : 0),
      reserve_bytes_(reserve_bytes),
      is_writer_(session.node_rank() == 0) {
  // Advice only: where the system grants large pages here, weights need fewer address translations.
  ::madvise(segment_->data(), static_cast<std::size_t>(segment_->size()), MADV_HUGEPAGE);
}

NodeMemory::~NodeMemory() = default;

void* NodeMemory::do_allocate(std::size_t bytes, std::size_t alignment) {
  TW_REQUIRE(alignment >= 1 && alignment <= kPageBytes, "alignment {} (at most {})", alignment,
             kPageBytes);
  const auto step = static_cast<std::int64_t>(alignment);
  const std::int64_t begin = (begin_ + used_bytes_ + step - 1) / step * step - begin_;
  const std::int64_t left = reserve_bytes_ - begin;
  TW_REQUIRE(static_cast<std::int64_t>(bytes) <= left,
             "{} bytes asked of the node's shared memory, {} of {} left", bytes, left,
             reserve_bytes_);
  used_bytes_ = begin + static_cast<std::int64_t>(bytes);
  return segment_->data() + begin_ + begin;
}

}  // namespace thinwire::fabric
