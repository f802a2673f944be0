// The calls that begin and end MPI and those that make communicators: each communicator gets its
// shadow here, while all its ranks are in one call.
#include <mpi.h>

#include "link_shim/shim.hpp"

using thinwire::link_shim::Shim;

namespace {

/// The result of a constructor whose new communicator is `made`.
int adopt(int code, const MPI_Comm* made) {
  if (code == MPI_SUCCESS && Shim::active() != nullptr) Shim::active()->adopt(*made);
  return code;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): MPI's names
extern "C" {

int MPI_Init(int* argc, char*** argv) {
  const int code = PMPI_Init(argc, argv);
  if (code == MPI_SUCCESS) Shim::begin();
  return code;
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int code = PMPI_Init_thread(argc, argv, required, provided);
  if (code == MPI_SUCCESS) Shim::begin();
  return code;
}

int MPI_Finalize() {
  Shim::end();
  return PMPI_Finalize();
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
  return adopt(PMPI_Comm_dup(comm, made), made);
}

int MPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm* made) {
  return adopt(PMPI_Comm_dup_with_info(comm, info, made), made);
}

int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
  return adopt(PMPI_Comm_split(comm, color, key, made), made);
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made) {
  return adopt(PMPI_Comm_split_type(comm, type, key, info, made), made);
}

int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* made) {
  return adopt(PMPI_Comm_create(comm, group, made), made);
}

int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made) {
  return adopt(PMPI_Comm_create_group(comm, group, tag, made), made);
}

int MPI_Intercomm_merge(MPI_Comm comm, int high, MPI_Comm* made) {
  return adopt(PMPI_Intercomm_merge(comm, high, made), made);
}

int MPI_Cart_create(MPI_Comm comm, int dimensions, const int* sizes, const int* periods,
                    int reorder, MPI_Comm* made) {
  return adopt(PMPI_Cart_create(comm, dimensions, sizes, periods, reorder, made), made);
}

int MPI_Cart_sub(MPI_Comm comm, const int* remaining, MPI_Comm* made) {
  return adopt(PMPI_Cart_sub(comm, remaining, made), made);
}

int MPI_Graph_create(MPI_Comm comm, int nodes, const int* index, const int* edges, int reorder,
                     MPI_Comm* made) {
  return adopt(PMPI_Graph_create(comm, nodes, index, edges, reorder, made), made);
}

int MPI_Dist_graph_create(MPI_Comm comm, int count, const int* nodes, const int* degrees,
                          const int* targets, const int* weights, MPI_Info info, int reorder,
                          MPI_Comm* made) {
  return adopt(
      PMPI_Dist_graph_create(comm, count, nodes, degrees, targets, weights, info, reorder, made),
      made);
}

int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int indegree, const int* sources,
                                   const int* source_weights, int outdegree, const int* targets,
                                   const int* target_weights, MPI_Info info, int reorder,
                                   MPI_Comm* made) {
  return adopt(PMPI_Dist_graph_create_adjacent(comm, indegree, sources, source_weights, outdegree,
                                               targets, target_weights, info, reorder, made),
               made);
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
