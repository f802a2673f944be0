#pragma once
#include <memory>

#include "thinwire/fabric/mpi_session.hpp"

namespace thinwire::fabric::test {

/// A session over the MPI that the test program's main has initialised.
inline std::unique_ptr<MpiSession> make_session() {
  int argc = 0;
  char** argv = nullptr;
  return std::make_unique<MpiSession>(argc, argv);
}

}  // namespace thinwire::fabric::test
