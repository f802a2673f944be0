#pragma once
#include <functional>
#include <span>

#include "thinwire/fabric/transport.hpp"

namespace thinwire::fabric {

/// Runs `work` for every one of `devices` (P) devices, each on a thread of this process with a
/// transport of its own, and returns when all have ended. What the first device that failed threw
/// is thrown again: the others only see that it has left.
void on_local_devices(int devices, const std::function<void(Transport&)>& work);

/// The same with several transports a device: one over the first groups[g] devices for every g, and
/// null for the devices that do not belong to them.
void on_local_devices(std::span<const int> groups,
                      const std::function<void(std::span<Transport* const>)>& work);

}  // namespace thinwire::fabric
