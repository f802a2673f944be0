#pragma once
#include <atomic>
#include <utility>

#include "fabric/wall_fabric.hpp"

namespace thinwire::fabric {

/// The native clock: wall time over whatever network MPI uses. Nothing is added to it, except
/// between hosts where a collective's sizes are not known to all: an all-gather of 16 bytes a rank
/// then travels before its bytes. Rates of the link setting are a statement about that network, for
/// formulas and labels alone.
/// On one host ranks meet before they call MPI. Between hosts a meeting would be traffic, so ranks
/// look for their collective's end: between naps while the device computes, which costs up to some
/// 100 us of lateness but leaves it its cores, and without naps once it waits. When all had
/// published is known only of collectives whose sizes travelled: the others' waiting is no skew.
class NativeFabric final : public WallFabric {
 public:
  NativeFabric(Transport& all, Transport* devices, FabricOptions options);
  ~NativeFabric() override;

 private:
  void carry(Job& job) override;
  void on_awaited(bool is_awaited) override { may_nap_ = !is_awaited; }
  void set_naps(const std::atomic<bool>* may_nap);

  std::atomic<bool> may_nap_ = true;
};

}  // namespace thinwire::fabric
