#pragma once
#include <memory>
#include <optional>
#include <string>

#include "thinwire/compress/codebook_set.hpp"
#include "thinwire/fabric/mpi_session.hpp"
#include "thinwire/fabric/node_memory.hpp"
#include "thinwire/harness/point.hpp"
#include "thinwire/model/model.hpp"

namespace thinwire::harness {

/// The codebooks and buffers in use, made once a node and kept from point to point while they agree
/// on all but the level.
class CodebookStore {
 public:
  /// `mpi` is null for a process alone: the codebooks are on its heap.
  explicit CodebookStore(fabric::MpiSession* mpi) : mpi_(mpi) {}

  /// Null for a point that codes nothing (its strategy has no codebooks, or one device is alone).
  /// Collective over all ranks of the session.
  const compress::CodebookSet* set_for(const Point& point, const model::Model& model);
  /// Bytes that the node holds once, for all its ranks; 0 without MPI.
  std::int64_t shared_bytes() const { return memory_ ? memory_->used_bytes() : 0; }

 private:
  fabric::MpiSession* mpi_;
  std::string key_;
  std::optional<fabric::NodeMemory> memory_;  // outlives the set that lies in it
  std::optional<compress::CodebookSet> set_;
};

}  // namespace thinwire::harness
