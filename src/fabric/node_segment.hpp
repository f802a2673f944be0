#pragma once
#include <cstddef>
#include <cstdint>

#include "fabric/mpi_handles.hpp"

namespace thinwire::fabric {

/// Zero-filled memory that all ranks of `node` map: an anonymous memory file made by its rank 0,
/// which the others open through /proc. Pages exist once they are touched.
class NodeSegment {
 public:
  /// Collective over `node`. Throws Error on all its ranks when one of them fails.
  NodeSegment(const Communicator& node, std::int64_t bytes);
  NodeSegment(const NodeSegment&) = delete;
  ~NodeSegment();

  std::byte* data() const { return data_; }
  std::int64_t size() const { return bytes_; }

 private:
  std::int64_t bytes_;
  std::byte* data_ = nullptr;
};

}  // namespace thinwire::fabric
