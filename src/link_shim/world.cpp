#include "link_shim/world.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <cstdio>

namespace thinwire::link_shim {

int world_rank() {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int world_size() {
  int size = 0;
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

void say(const std::string& text) {
  fmt::print(stderr, "thinwire_link: {}\n", text);
  std::fflush(stderr);
}

}  // namespace thinwire::link_shim
