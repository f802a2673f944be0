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

/// Runs work(rank) on a thread a rank; the first rank's exception is rethrown. A rank that fails
/// calls abandon_rank(rank).
inline void on_threads(int ranks, const std::function<void(int)>& work,
                       const std::function<void(int)>& abandon_rank) {
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        work(rank);
      } catch (...) {
        errors[static_cast<std::size_t>(rank)] = std::current_exception();
        abandon_rank(rank);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

/// Runs `work` on a thread a device.
inline void on_devices(int devices, const std::function<void(Transport&)>& work) {
  const auto transports = make_local_transports(devices);
  const auto of = [&](int rank) -> Transport& {
    return *transports[static_cast<std::size_t>(rank)];
  };
  on_threads(
      devices, [&](int rank) { work(of(rank)); }, [&](int rank) { abandon(of(rank)); });
}

/// The same with a terminal, the last rank of `all`, which has no `devices`.
inline void on_devices_and_terminal(
    int devices, const std::function<void(Transport& all, Transport* devices)>& work) {
  const auto all = make_local_transports(devices + 1);
  const auto parts = make_local_transports(devices);
  const auto part_of = [&](int rank) {
    return rank < devices ? parts[static_cast<std::size_t>(rank)].get() : nullptr;
  };
  on_threads(
      devices + 1, [&](int rank) { work(*all[static_cast<std::size_t>(rank)], part_of(rank)); },
      [&](int /*rank*/) {
        abandon(*all.front());
        abandon(*parts.front());
      });
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
