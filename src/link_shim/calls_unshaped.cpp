// Ways of communicating that the link model does not know: the program hears of it, once a call.
#include <mpi.h>

#include "link_shim/shim.hpp"

namespace {

void note(const char* call) {
  auto* const shim = thinwire::link_shim::Shim::active();
  if (shim != nullptr) shim->note_unshaped(call);
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): MPI's names
extern "C" {

int MPI_Win_create(void* base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm,
                   MPI_Win* window) {
  note("MPI_Win_create");
  return PMPI_Win_create(base, size, unit, info, comm, window);
}

int MPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base,
                     MPI_Win* window) {
  note("MPI_Win_allocate");
  return PMPI_Win_allocate(size, unit, info, comm, base, window);
}

int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win* window) {
  note("MPI_Win_create_dynamic");
  return PMPI_Win_create_dynamic(info, comm, window);
}

int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* made, MPI_Request* request) {
  note("MPI_Comm_idup");
  return PMPI_Comm_idup(comm, made, request);
}

int MPI_Intercomm_create(MPI_Comm comm, int leader, MPI_Comm peers, int peer_leader, int tag,
                         MPI_Comm* made) {
  note("MPI_Intercomm_create");
  return PMPI_Intercomm_create(comm, leader, peers, peer_leader, tag, made);
}

int MPI_Neighbor_allgather(const void* data, int count, MPI_Datatype type, void* into,
                           int into_count, MPI_Datatype into_type, MPI_Comm comm) {
  note("MPI_Neighbor_allgather");
  return PMPI_Neighbor_allgather(data, count, type, into, into_count, into_type, comm);
}

int MPI_Neighbor_alltoall(const void* data, int count, MPI_Datatype type, void* into,
                          int into_count, MPI_Datatype into_type, MPI_Comm comm) {
  note("MPI_Neighbor_alltoall");
  return PMPI_Neighbor_alltoall(data, count, type, into, into_count, into_type, comm);
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
