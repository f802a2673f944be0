// Three ranks, of which the second one fails while the others wait for it, or, when called with
// "overlapped", while it has a collective under way to which they never come.
#include <chrono>
#include <cstddef>
#include <exception>
#include <string_view>
#include <thread>
#include <vector>

#include "thinwire/base/error.hpp"
#include "thinwire/fabric/fabric.hpp"
#include "thinwire/fabric/mpi_session.hpp"

namespace {

namespace fabric = thinwire::fabric;

void fail_while_others_wait(fabric::MpiSession& session) {
  const auto device = fabric::make_fabric(session.world(), {});
  device->begin_iteration();
  device->compute({"work", 0}, [&](thinwire::Operations&) {
    if (session.rank() == 1) throw thinwire::Error("fails on purpose");
  });
  const std::vector<std::byte> mine(1);
  std::vector<std::byte> all(static_cast<std::size_t>(session.size()));
  device->wait(device->all_gather({mine}, all));
}

void fail_with_a_transfer_under_way(fabric::MpiSession& session) {
  const std::vector<std::byte> mine(1);
  std::vector<std::byte> all(static_cast<std::size_t>(session.size()));
  const auto device = fabric::make_fabric(session.world(), {.clock = fabric::Clock::throttled});
  device->begin_iteration();
  if (session.rank() != 1) std::this_thread::sleep_for(std::chrono::minutes(10));
  [[maybe_unused]] const fabric::Pending pending = device->all_gather({mine}, all);
  device->compute({"work", 0}, [](thinwire::Operations&) {  // the transfer is under way meanwhile
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    throw thinwire::Error("fails on purpose");
  });
}

}  // namespace

int main(int argc, char** argv) {
  fabric::MpiSession session(argc, argv);
  try {
    if (argc > 1 && std::string_view(argv[1]) == "overlapped")
      fail_with_a_transfer_under_way(session);
    fail_while_others_wait(session);
  } catch (const std::exception& error) {
    session.abort(error.what(), 7);
  }
}
