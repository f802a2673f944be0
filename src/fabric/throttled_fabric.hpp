#pragma once
#include <utility>

#include "fabric/pacer.hpp"
#include "fabric/wall_fabric.hpp"

namespace thinwire::fabric {

/// The throttled clock: wall time over real MPI, senders paced in real time. What it is not:
///  - a payload is delivered whole, when its last bit has left at the link's rate; while that time
///    passes, its bytes move in one collective, whose own time shows only when it is longer;
///  - receivers' ports are not modelled;
///  - one collective is delivered, latency included, before the next one is paced;
///  - collectives are in lock step: who only sends, or neither sends nor receives, waits too, until
///    all bytes have left and arrived.
class ThrottledFabric final : public WallFabric {
 public:
  ThrottledFabric(Transport& all, Transport* devices, FabricOptions options)
      : WallFabric(all, devices, std::move(options)) {}
  ~ThrottledFabric() override { stop(); }

 private:
  void carry(Job& job) override;
  /// On a shared medium the others' sending passes for it.
  bool knows_skew() const override;

  void pause_until(Time deadline) const;
  void reserve(Job& job, Time ready);
  void reserve(Job& job, int to, std::int64_t bytes);
  Pacer::Span reserve(const Link& link, int to, std::int64_t bytes_on_link, Time ready);
  void send_on_shared_medium(Job& job);

  Pacer pacer_;
};

}  // namespace thinwire::fabric
