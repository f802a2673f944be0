#pragma once
#include <mpi.h>

#include <deque>
#include <mutex>
#include <vector>

#include "link_shim/endpoint.hpp"

namespace thinwire::link_shim {

/// Beside a communicator of the program, one of ours with the same ranks: stamps travel through it
/// in the order of the messages that they go with. Only for communicators whose ranks all belong to
/// MPI_COMM_WORLD and of which there are several.
class Shadow {
 public:
  /// Collective over `user`. `link` is that of MPI_COMM_WORLD, `nodes` [member] its ranks there.
  Shadow(MPI_Comm user, const fabric::Link& link, std::vector<int> nodes);
  Shadow(const Shadow&) = delete;
  /// Collective, as MPI_Comm_free is.
  ~Shadow();

  MPI_Comm handle() const { return handle_; }
  int rank() const { return rank_; }
  int size() const { return static_cast<int>(nodes_.size()); }
  /// The rank in MPI_COMM_WORLD of a member.
  int node(int member) const { return nodes_[static_cast<std::size_t>(member)]; }
  /// With the members' rates.
  const fabric::Link& link() const { return link_; }

  /// Never waits for the receiver. Any thread.
  void send_stamp(const Stamp& stamp, int to, int tag);
  /// The stamp of the message that came with `status`: the k-th that came from a source with a tag
  /// has the k-th stamp.
  Stamp receive_stamp(const MPI_Status& status) const;

 private:
  struct Outgoing {
    Stamp stamp;
    MPI_Request request = MPI_REQUEST_NULL;
  };

  MPI_Comm handle_ = MPI_COMM_NULL;
  int rank_ = 0;
  std::vector<int> nodes_;
  fabric::Link link_;
  std::mutex outgoing_mutex_;
  std::deque<Outgoing> outgoing_;  // stamps stay in place until MPI has sent them
};

/// The ranks in MPI_COMM_WORLD of the members; empty when one is not there (a spawned process).
std::vector<int> nodes_of(MPI_Comm communicator);

}  // namespace thinwire::link_shim
