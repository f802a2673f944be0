#include "fabric/native_fabric.hpp"

namespace thinwire::fabric {

NativeFabric::NativeFabric(Transport& all, Transport* devices, FabricOptions options)
    : WallFabric(all, devices, std::move(options)) {
  set_naps(&may_nap_);
}

NativeFabric::~NativeFabric() {
  stop();
  set_naps(nullptr);
}

void NativeFabric::set_naps(const std::atomic<bool>* may_nap) {
  all_.set_naps(may_nap);
  if (devices_ != nullptr) devices_->set_naps(may_nap);
}

void NativeFabric::carry(Job& job) {
  Slot& slot = *job.slot;
  if (slot.knows_sizes && transport_of(slot).hosts() > 1) {
    take_known_sizes(slot);
    job.met = job.published;
  } else {
    tell(slot);
    job.met = std::chrono::steady_clock::now();
  }
  move_bytes(slot);
  job.done = std::chrono::steady_clock::now();
}

}  // namespace thinwire::fabric
