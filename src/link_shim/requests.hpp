#pragma once
#include <mpi.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "link_shim/operation.hpp"

namespace thinwire::link_shim {

/// The program's requests that the link has to do with. An MPI library may give the same handle to
/// several requests that were done at once; they are told apart by nothing and served in turn.
/// Any thread.
class Requests {
 public:
  using Start = std::function<std::shared_ptr<Operation>()>;

  void add(MPI_Request request, std::shared_ptr<Operation> operation);
  /// A persistent request, inactive; `start` makes its operation.
  void add_persistent(MPI_Request request, Start start);
  void start(MPI_Request request);

  /// The operation of an active request, null for what passes unshaped.
  std::shared_ptr<Operation> find(MPI_Request request) const;
  /// find(), and the request is done: inactive when it is persistent, otherwise forgotten.
  std::shared_ptr<Operation> take(MPI_Request request);
  void forget(MPI_Request request);
  /// Whether MPI would say of it that there is nothing to wait for.
  bool is_inactive(MPI_Request request) const;

 private:
  struct Entry {
    std::shared_ptr<Operation> operation;
    Start start;  ///< of persistent requests only
  };

  mutable std::mutex mutex_;
  std::multimap<MPI_Request, Entry> entries_;  // equal handles in the order of add()
};

}  // namespace thinwire::link_shim
