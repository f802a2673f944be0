#include "thinwire/fabric/local_devices.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>

#include "thinwire/base/error.hpp"

namespace thinwire::fabric {

void on_local_devices(std::span<const int> groups,
                      const std::function<void(std::span<Transport* const>)>& work) {
  TW_REQUIRE(!groups.empty(), "no group of devices");
  std::vector<std::vector<std::unique_ptr<Transport>>> transports;
  for (const int size : groups) transports.push_back(make_local_transports(size));
  std::exception_ptr first;
  std::mutex mutex;
  const auto run = [&](std::size_t device) {
    std::vector<Transport*> own;
    for (const auto& group : transports)
      own.push_back(device < group.size() ? group[device].get() : nullptr);
    try {
      work(own);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!first) first = std::current_exception();
      for (Transport* const transport : own)
        if (transport != nullptr) transport->abandon();
    }
  };
  std::vector<std::thread> threads;
  for (int device = 0; device < std::ranges::max(groups); ++device)
    threads.emplace_back(run, static_cast<std::size_t>(device));
  for (std::thread& thread : threads) thread.join();
  if (first) std::rethrow_exception(first);
}

void on_local_devices(int devices, const std::function<void(Transport&)>& work) {
  on_local_devices(std::span(&devices, 1),
                   [&](std::span<Transport* const> own) { work(*own.front()); });
}

}  // namespace thinwire::fabric
