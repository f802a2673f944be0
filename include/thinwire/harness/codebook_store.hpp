#pragma once
#include <list>
#include <optional>
#include <string>
#include <utility>

#include "thinwire/compress/codebook_set.hpp"
#include "thinwire/harness/node_place.hpp"
#include "thinwire/harness/point.hpp"
#include "thinwire/model/model.hpp"

namespace thinwire::harness {

/// The codebooks and buffers in use, made once a node and kept from point to point while they agree
/// on all but the level. Where ranks share them, those of earlier points stay as well, up to a
/// total of 512 MB and with the same model: sweeps take strategies in turn.
class CodebookStore {
 public:
  /// `mpi` is null for a process alone: the codebooks are on its heap.
  explicit CodebookStore(fabric::MpiSession* mpi) : mpi_(mpi) {}

  /// Null for a point that codes nothing (its strategy has no codebooks, or one device is alone).
  /// Collective over all ranks of the session.
  const compress::CodebookSet* set_for(const Point& point, const model::Model& model);
  /// Bytes of the latest set, which the node holds once, for all its ranks; 0 without MPI.
  std::int64_t shared_bytes() const { return kept_.empty() ? 0 : kept_.front().place.used_bytes(); }

 private:
  struct Kept {
    Kept(std::string of_model, std::string of_key, fabric::MpiSession* mpi)
        : model(std::move(of_model)), key(std::move(of_key)), place(mpi) {}
    std::string model, key;
    NodePlace place;  // outlives the set that lies in it
    std::optional<compress::CodebookSet> set;
  };
  void make_room(const std::string& model);

  fabric::MpiSession* mpi_;
  std::list<Kept> kept_;  // the latest first
};

}  // namespace thinwire::harness
