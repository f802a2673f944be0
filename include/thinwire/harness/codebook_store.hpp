#pragma once
#include <optional>
#include <string>

#include "thinwire/compress/codebook_set.hpp"
#include "thinwire/harness/node_place.hpp"
#include "thinwire/harness/point.hpp"
#include "thinwire/model/model.hpp"

namespace thinwire::harness {

/// The codebooks and buffers in use, made once a node and kept from point to point while they agree
/// on all but the level.
class CodebookStore {
 public:
  /// `mpi` is null for a process alone: the codebooks are on its heap.
  explicit CodebookStore(fabric::MpiSession* mpi) : place_(mpi) {}

  /// Null for a point that codes nothing (its strategy has no codebooks, or one device is alone).
  /// Collective over all ranks of the session.
  const compress::CodebookSet* set_for(const Point& point, const model::Model& model);
  /// Bytes that the node holds once, for all its ranks; 0 without MPI.
  std::int64_t shared_bytes() const { return place_.used_bytes(); }

 private:
  std::string key_;
  NodePlace place_;  // outlives the set that lies in it
  std::optional<compress::CodebookSet> set_;
};

}  // namespace thinwire::harness
