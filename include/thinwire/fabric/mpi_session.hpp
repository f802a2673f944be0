#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "thinwire/fabric/progress_board.hpp"
#include "thinwire/fabric/transport.hpp"

namespace thinwire::fabric {

/// True when this process was started by mpirun or srun.
bool is_under_launcher();
std::string mpi_version();  // "Open MPI 4.1.4"

/// MPI from initialisation to finalisation. Finalises only when no exception unwinds; an MPI that
/// was initialised before is used and left as it is. Outlives its transports.
class MpiSession {
 public:
  /// Asks for MPI_THREAD_SERIALIZED and checks that it is given.
  MpiSession(int& argc, char**& argv);
  MpiSession(const MpiSession&) = delete;
  ~MpiSession();

  int rank() const;
  int size() const;
  int hosts() const;      ///< nodes that the ranks run on
  int node_rank() const;  ///< rank among those of this node
  int node_size() const;

  /// A transport over the first `devices` ranks, on a communicator of its own; null on the others.
  /// Collective over all ranks. Throws InputError when there are fewer ranks than devices.
  std::unique_ptr<Transport> first_ranks(int devices);
  /// Over all ranks.
  Transport& world();
  /// What this node's ranks report to their watchdogs.
  const ProgressBoard& board() const;

  /// Ends all ranks with `status` after printing `message` with this rank's number.
  [[noreturn]] void abort(const std::string& message, int status);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  bool owns_mpi_ = true;
  friend class NodeMemory;
};

}  // namespace thinwire::fabric
