#include "thinwire/tensor/tracking_resource.hpp"

namespace thinwire {

void* TrackingResource::do_allocate(std::size_t bytes, std::size_t alignment) {
  void* const p = upstream_->allocate(bytes, alignment);  // counted only when it succeeds
  held_bytes_ += static_cast<std::int64_t>(bytes);
  ++allocations_;
  return p;
}

void TrackingResource::do_deallocate(void* p, std::size_t bytes, std::size_t alignment) {
  upstream_->deallocate(p, bytes, alignment);
  held_bytes_ -= static_cast<std::int64_t>(bytes);
}

}  // namespace thinwire
