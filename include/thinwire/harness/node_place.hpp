#pragma once
#include <cstdint>
#include <memory_resource>
#include <optional>

#include "thinwire/fabric/mpi_session.hpp"
#include "thinwire/fabric/node_memory.hpp"
#include "thinwire/model/embedding.hpp"
#include "thinwire/tensor/large_pages.hpp"

namespace thinwire::harness {

/// Room for what a node's ranks hold once: one rank writes, the others attach. For a process alone,
/// memory of its own in large pages. Collective over all ranks of the session.
class NodePlace {
 public:
  /// `mpi` is null for a process alone.
  explicit NodePlace(fabric::MpiSession* mpi) : mpi_(mpi) {}

  /// An empty place; what lay in the one before must be gone.
  model::WeightPlace renew();
  /// What was written since renew() may be read when this returns. Gives back the heap that it has
  /// passed through.
  void publish();
  /// Bytes that the node holds once, for all its ranks; 0 for a process alone.
  std::int64_t used_bytes() const { return memory_ ? memory_->used_bytes() : 0; }

 private:
  fabric::MpiSession* mpi_;
  std::optional<fabric::NodeMemory> memory_;
  LargePages pages_;
  std::optional<std::pmr::monotonic_buffer_resource> alone_;
};

/// Room for the weights that a device of a point packs for itself: its own part of the node's
/// memory, since a node holds them once as well; the heap of a process alone. Collective over all
/// ranks of the session.
class OwnPlace {
 public:
  /// `mpi` is null for a process alone.
  explicit OwnPlace(fabric::MpiSession* mpi);

  std::pmr::memory_resource* memory();
  /// Bytes that this rank has put there; 0 on a heap.
  std::int64_t used_bytes() const { return memory_ ? memory_->used_bytes() : 0; }

 private:
  std::optional<fabric::NodeMemory> memory_;
};

}  // namespace thinwire::harness
