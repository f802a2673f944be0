// Three ranks, of which the second one fails while the others wait for it.
#include <cstddef>
#include <exception>
#include <vector>

#include "thinwire/base/error.hpp"
#include "thinwire/fabric/fabric.hpp"
#include "thinwire/fabric/mpi_session.hpp"

namespace {

void run(thinwire::fabric::MpiSession& session) {
  const auto fabric = thinwire::fabric::make_fabric(session.world(), {});
  fabric->begin_iteration();
  fabric->compute({"work", 0}, [&](thinwire::Operations&) {
    if (session.rank() == 1) throw thinwire::Error("fails on purpose");
  });
  const std::vector<std::byte> mine(1);
  std::vector<std::byte> all(static_cast<std::size_t>(session.size()));
  fabric->wait(fabric->all_gather({mine}, all));
}

}  // namespace

int main(int argc, char** argv) {
  thinwire::fabric::MpiSession session(argc, argv);
  try {
    run(session);
  } catch (const std::exception& error) {
    session.abort(error.what(), 7);
  }
}
