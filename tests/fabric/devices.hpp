#pragma once
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "thinwire/fabric/transport.hpp"

namespace thinwire::fabric::test {

/// Runs `work` on a thread a device; the first device's exception is rethrown.
inline void on_devices(int devices, const std::function<void(Transport&)>& work) {
  const auto transports = make_local_transports(devices);
  std::vector<std::exception_ptr> errors(transports.size());
  std::vector<std::thread> threads;
  for (std::size_t p = 0; p < transports.size(); ++p)
    threads.emplace_back([&, p] {
      try {
        work(*transports[p]);
      } catch (...) {
        errors[p] = std::current_exception();
        abandon(*transports[p]);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

inline std::vector<std::byte> filled(std::int64_t size, int value) {
  return std::vector<std::byte>(static_cast<std::size_t>(size), static_cast<std::byte>(value));
}

/// True when `bytes` are `size` times `value`.
inline bool is_filled(std::span<const std::byte> bytes, std::int64_t size, int value) {
  for (const std::byte byte : bytes)
    if (byte != static_cast<std::byte>(value)) return false;
  return std::ssize(bytes) == size;
}

}  // namespace thinwire::fabric::test
