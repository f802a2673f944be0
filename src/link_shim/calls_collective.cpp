// Collectives that return when they are done.
#include <mpi.h>

#include <memory>
#include <utility>
#include <vector>

#include "link_shim/collective_call.hpp"
#include "link_shim/plans.hpp"

using namespace thinwire::link_shim;  // NOLINT(google-build-using-namespace)

// NOLINTBEGIN(readability-identifier-naming): MPI's names
extern "C" {

int MPI_Barrier(MPI_Comm comm) {
  return shape(
      comm, [&](const Shadow&) { return plan_barrier(); }, [&] { return PMPI_Barrier(comm); });
}

int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return shape(
      comm, [&](const Shadow& shadow) { return plan_bcast(shadow, bytes_of(count, type), root); },
      [&] { return PMPI_Bcast(data, count, type, root, comm); });
}

int MPI_Gather(const void* data, int count, MPI_Datatype type, void* into, int into_count,
               MPI_Datatype into_type, int root, MPI_Comm comm) {
  return shape(
      comm,
      [&](const Shadow& shadow) {
        return plan_gather(shadow, shadow.rank() == root ? 0 : bytes_of(count, type), root);
      },
      [&] { return PMPI_Gather(data, count, type, into, into_count, into_type, root, comm); });
}

int MPI_Gatherv(const void* data, int count, MPI_Datatype type, void* into, const int* counts,
                const int* places, MPI_Datatype into_type, int root, MPI_Comm comm) {
  return shape(
      comm,
      [&](const Shadow& shadow) {
        return plan_gather(shadow, shadow.rank() == root ? 0 : bytes_of(count, type), root);
      },
      [&] { return PMPI_Gatherv(data, count, type, into, counts, places, into_type, root, comm); });
}

int MPI_Scatter(const void* data, int count, MPI_Datatype type, void* into, int into_count,
                MPI_Datatype into_type, int root, MPI_Comm comm) {
  return shape(
      comm,
      [&](const Shadow& shadow) {
        return plan_scatter(shadow, shadow.rank() == root ? 0 : bytes_of(into_count, into_type),
                            root);
      },
      [&] { return PMPI_Scatter(data, count, type, into, into_count, into_type, root, comm); });
}

int MPI_Scatterv(const void* data, const int* counts, const int* places, MPI_Datatype type,
                 void* into, int into_count, MPI_Datatype into_type, int root, MPI_Comm comm) {
  return shape(
      comm,
      [&](const Shadow& shadow) {
        return plan_scatter(shadow, shadow.rank() == root ? 0 : bytes_of(into_count, into_type),
                            root);
      },
      [&] {
        return PMPI_Scatterv(data, counts, places, type, into, into_count, into_type, root, comm);
      });
}

int MPI_Allgather(const void* data, int count, MPI_Datatype type, void* into, int into_count,
                  MPI_Datatype into_type, MPI_Comm comm) {
  return shape(
      comm, [&](const Shadow&) { return plan_all_gather(bytes_of(into_count, into_type)); },
      [&] { return PMPI_Allgather(data, count, type, into, into_count, into_type, comm); });
}

int MPI_Allgatherv(const void* data, int count, MPI_Datatype type, void* into, const int* counts,
                   const int* places, MPI_Datatype into_type, MPI_Comm comm) {
  return shape(
      comm,
      [&](const Shadow& shadow) {
        return plan_all_gather(bytes_of(counts[shadow.rank()], into_type));
      },
      [&] { return PMPI_Allgatherv(data, count, type, into, counts, places, into_type, comm); });
}

int MPI_Alltoall(const void* data, int count, MPI_Datatype type, void* into, int into_count,
                 MPI_Datatype into_type, MPI_Comm comm) {
  return shape(
      comm,
      [&](const Shadow& shadow) {
        return plan_all_to_all(shadow, bytes_of(into_count, into_type));
      },
      [&] { return PMPI_Alltoall(data, count, type, into, into_count, into_type, comm); });
}

int MPI_Alltoallv(const void* data, const int* counts, const int* places, MPI_Datatype type,
                  void* into, const int* into_counts, const int* into_places,
                  MPI_Datatype into_type, MPI_Comm comm) {
  return shape(
      comm,
      [&](const Shadow& shadow) {
        return data == MPI_IN_PLACE ? plan_all_to_all(shadow, into_counts, into_type)
                                    : plan_all_to_all(shadow, counts, type);
      },
      [&] {
        return PMPI_Alltoallv(data, counts, places, type, into, into_counts, into_places, into_type,
                              comm);
      });
}

int MPI_Alltoallw(const void* data, const int* counts, const int* places, const MPI_Datatype* types,
                  void* into, const int* into_counts, const int* into_places,
                  const MPI_Datatype* into_types, MPI_Comm comm) {
  return shape(
      comm,
      [&](const Shadow& shadow) {
        return data == MPI_IN_PLACE ? plan_all_to_all(shadow, into_counts, into_types)
                                    : plan_all_to_all(shadow, counts, types);
      },
      [&] {
        return PMPI_Alltoallw(data, counts, places, types, into, into_counts, into_places,
                              into_types, comm);
      });
}

int MPI_Reduce(const void* data, void* into, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm) {
  return shape(
      comm, [&](const Shadow& shadow) { return plan_reduce(shadow, count, type, root); },
      [&] { return PMPI_Reduce(data, into, count, type, op, root, comm); });
}

int MPI_Allreduce(const void* data, void* into, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  return shape(
      comm, [&](const Shadow& shadow) { return plan_all_reduce(shadow, count, type); },
      [&] { return PMPI_Allreduce(data, into, count, type, op, comm); });
}

int MPI_Reduce_scatter(const void* data, void* into, const int* counts, MPI_Datatype type,
                       MPI_Op op, MPI_Comm comm) {
  return shape(
      comm, [&](const Shadow& shadow) { return plan_reduce_scatter(shadow, counts, type); },
      [&] { return PMPI_Reduce_scatter(data, into, counts, type, op, comm); });
}

int MPI_Reduce_scatter_block(const void* data, void* into, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm) {
  return shape(
      comm, [&](const Shadow& shadow) { return plan_reduce_scatter_block(shadow, count, type); },
      [&] { return PMPI_Reduce_scatter_block(data, into, count, type, op, comm); });
}

int MPI_Scan(const void* data, void* into, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return shape(
      comm, [&](const Shadow&) { return plan_scan(count, type); },
      [&] { return PMPI_Scan(data, into, count, type, op, comm); });
}

int MPI_Exscan(const void* data, void* into, int count, MPI_Datatype type, MPI_Op op,
               MPI_Comm comm) {
  return shape(
      comm, [&](const Shadow&) { return plan_scan(count, type); },
      [&] { return PMPI_Exscan(data, into, count, type, op, comm); });
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
