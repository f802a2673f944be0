#pragma once
#include <atomic>
#include <cstdint>

#include "link_shim/collective_times.hpp"
#include "link_shim/port.hpp"
#include "thinwire/fabric/link.hpp"

namespace thinwire::link_shim {

/// Goes with a message: when its bits are on the way.
struct Stamp {
  double start_s = 0, duration_s = 0;
  double end_s() const { return start_s + duration_s; }
};

/// One rank's end of the link: its transmitter, its port, and the medium that all share. Nodes are
/// ranks of MPI_COMM_WORLD, times are of the common clock.
///   broadcast  a message occupies the sender's transmitter
///   unicast    and, from then on, the receiver's port
///   shared     the medium
class Endpoint {
 public:
  /// `medium_free_s` is shared by all ranks; used under Topology::shared only, else it may be null.
  Endpoint(fabric::Link link, int node, std::atomic<double>* medium_free_s);

  /// Sends `bytes`, ready at `now_s`: the transmitter is free again at the stamp's end.
  Stamp send(int to, std::int64_t bytes, double now_s);
  /// When the message has arrived, latency included.
  double receive(const Stamp& stamp);

  Entry enter(double now_s) const;
  /// After a collective that was entered with `before`.
  void leave(const Entry& before, const Entry& after);

 private:
  fabric::Link link_;
  int node_;
  std::atomic<double>* medium_free_s_;
  double transmitter_free_s_ = 0;
  Port port_;
};

}  // namespace thinwire::link_shim
