#pragma once
#include <optional>
#include <string>

#include "thinwire/harness/node_place.hpp"
#include "thinwire/harness/point.hpp"
#include "thinwire/model/model.hpp"

namespace thinwire::harness {

/// The model in use, packed once a node and kept from point to point while they agree on it.
class ModelStore {
 public:
  /// `mpi` is null for a process alone: the weights are on its heap.
  explicit ModelStore(fabric::MpiSession* mpi) : place_(mpi) {}

  /// Collective over all ranks of the session. Throws as require_cpu().
  const model::Model& model_for(const Point& point);
  /// Bytes of weights that the node holds once, for all its ranks; 0 without MPI.
  std::int64_t shared_bytes() const { return place_.used_bytes(); }

 private:
  std::string key_;
  NodePlace place_;  // outlives the model that lies in it
  std::optional<model::Model> model_;
};

}  // namespace thinwire::harness
