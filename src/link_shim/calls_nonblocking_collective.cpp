// Collectives that only begin: the link begins with them, completing the request waits for it.
#include <mpi.h>

#include <memory>
#include <utility>
#include <vector>

#include "link_shim/collective_call.hpp"
#include "link_shim/plans.hpp"

using namespace thinwire::link_shim;  // NOLINT(google-build-using-namespace)

// NOLINTBEGIN(readability-identifier-naming): MPI's names
extern "C" {

int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  return start_shaped(
      comm, request, [&](const Shadow&) { return plan_barrier(); },
      [&] { return PMPI_Ibarrier(comm, request); });
}

int MPI_Ibcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm,
               MPI_Request* request) {
  return start_shaped(
      comm, request,
      [&](const Shadow& shadow) { return plan_bcast(shadow, bytes_of(count, type), root); },
      [&] { return PMPI_Ibcast(data, count, type, root, comm, request); });
}

int MPI_Igather(const void* data, int count, MPI_Datatype type, void* into, int into_count,
                MPI_Datatype into_type, int root, MPI_Comm comm, MPI_Request* request) {
  return start_shaped(
      comm, request,
      [&](const Shadow& shadow) {
        return plan_gather(shadow, shadow.rank() == root ? 0 : bytes_of(count, type), root);
      },
      [&] {
        return PMPI_Igather(data, count, type, into, into_count, into_type, root, comm, request);
      });
}

int MPI_Igatherv(const void* data, int count, MPI_Datatype type, void* into, const int* counts,
                 const int* places, MPI_Datatype into_type, int root, MPI_Comm comm,
                 MPI_Request* request) {
  return start_shaped(
      comm, request,
      [&](const Shadow& shadow) {
        return plan_gather(shadow, shadow.rank() == root ? 0 : bytes_of(count, type), root);
      },
      [&] {
        return PMPI_Igatherv(data, count, type, into, counts, places, into_type, root, comm,
                             request);
      });
}

int MPI_Iscatter(const void* data, int count, MPI_Datatype type, void* into, int into_count,
                 MPI_Datatype into_type, int root, MPI_Comm comm, MPI_Request* request) {
  return start_shaped(
      comm, request,
      [&](const Shadow& shadow) {
        return plan_scatter(shadow, shadow.rank() == root ? 0 : bytes_of(into_count, into_type),
                            root);
      },
      [&] {
        return PMPI_Iscatter(data, count, type, into, into_count, into_type, root, comm, request);
      });
}

int MPI_Iscatterv(const void* data, const int* counts, const int* places, MPI_Datatype type,
                  void* into, int into_count, MPI_Datatype into_type, int root, MPI_Comm comm,
                  MPI_Request* request) {
  return start_shaped(
      comm, request,
      [&](const Shadow& shadow) {
        return plan_scatter(shadow, shadow.rank() == root ? 0 : bytes_of(into_count, into_type),
                            root);
      },
      [&] {
        return PMPI_Iscatterv(data, counts, places, type, into, into_count, into_type, root, comm,
                              request);
      });
}

int MPI_Iallgather(const void* data, int count, MPI_Datatype type, void* into, int into_count,
                   MPI_Datatype into_type, MPI_Comm comm, MPI_Request* request) {
  return start_shaped(
      comm, request,
      [&](const Shadow&) { return plan_all_gather(bytes_of(into_count, into_type)); },
      [&] {
        return PMPI_Iallgather(data, count, type, into, into_count, into_type, comm, request);
      });
}

int MPI_Iallgatherv(const void* data, int count, MPI_Datatype type, void* into, const int* counts,
                    const int* places, MPI_Datatype into_type, MPI_Comm comm,
                    MPI_Request* request) {
  return start_shaped(
      comm, request,
      [&](const Shadow& shadow) {
        return plan_all_gather(bytes_of(counts[shadow.rank()], into_type));
      },
      [&] {
        return PMPI_Iallgatherv(data, count, type, into, counts, places, into_type, comm, request);
      });
}

int MPI_Ialltoall(const void* data, int count, MPI_Datatype type, void* into, int into_count,
                  MPI_Datatype into_type, MPI_Comm comm, MPI_Request* request) {
  return start_shaped(
      comm, request,
      [&](const Shadow& shadow) {
        return plan_all_to_all(shadow, bytes_of(into_count, into_type));
      },
      [&] {
        return PMPI_Ialltoall(data, count, type, into, into_count, into_type, comm, request);
      });
}

int MPI_Ialltoallv(const void* data, const int* counts, const int* places, MPI_Datatype type,
                   void* into, const int* into_counts, const int* into_places,
                   MPI_Datatype into_type, MPI_Comm comm, MPI_Request* request) {
  return start_shaped(
      comm, request,
      [&](const Shadow& shadow) {
        return data == MPI_IN_PLACE ? plan_all_to_all(shadow, into_counts, into_type)
                                    : plan_all_to_all(shadow, counts, type);
      },
      [&] {
        return PMPI_Ialltoallv(data, counts, places, type, into, into_counts, into_places,
                               into_type, comm, request);
      });
}

int MPI_Ialltoallw(const void* data, const int* counts, const int* places,
                   const MPI_Datatype* types, void* into, const int* into_counts,
                   const int* into_places, const MPI_Datatype* into_types, MPI_Comm comm,
                   MPI_Request* request) {
  return start_shaped(
      comm, request,
      [&](const Shadow& shadow) {
        return data == MPI_IN_PLACE ? plan_all_to_all(shadow, into_counts, into_types)
                                    : plan_all_to_all(shadow, counts, types);
      },
      [&] {
        return PMPI_Ialltoallw(data, counts, places, types, into, into_counts, into_places,
                               into_types, comm, request);
      });
}

int MPI_Ireduce(const void* data, void* into, int count, MPI_Datatype type, MPI_Op op, int root,
                MPI_Comm comm, MPI_Request* request) {
  return start_shaped(
      comm, request, [&](const Shadow& shadow) { return plan_reduce(shadow, count, type, root); },
      [&] { return PMPI_Ireduce(data, into, count, type, op, root, comm, request); });
}

int MPI_Iallreduce(const void* data, void* into, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request* request) {
  return start_shaped(
      comm, request, [&](const Shadow& shadow) { return plan_all_reduce(shadow, count, type); },
      [&] { return PMPI_Iallreduce(data, into, count, type, op, comm, request); });
}

int MPI_Ireduce_scatter(const void* data, void* into, const int* counts, MPI_Datatype type,
                        MPI_Op op, MPI_Comm comm, MPI_Request* request) {
  return start_shaped(
      comm, request,
      [&](const Shadow& shadow) { return plan_reduce_scatter(shadow, counts, type); },
      [&] { return PMPI_Ireduce_scatter(data, into, counts, type, op, comm, request); });
}

int MPI_Ireduce_scatter_block(const void* data, void* into, int count, MPI_Datatype type, MPI_Op op,
                              MPI_Comm comm, MPI_Request* request) {
  return start_shaped(
      comm, request,
      [&](const Shadow& shadow) { return plan_reduce_scatter_block(shadow, count, type); },
      [&] { return PMPI_Ireduce_scatter_block(data, into, count, type, op, comm, request); });
}

int MPI_Iscan(const void* data, void* into, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
              MPI_Request* request) {
  return start_shaped(
      comm, request, [&](const Shadow&) { return plan_scan(count, type); },
      [&] { return PMPI_Iscan(data, into, count, type, op, comm, request); });
}

int MPI_Iexscan(const void* data, void* into, int count, MPI_Datatype type, MPI_Op op,
                MPI_Comm comm, MPI_Request* request) {
  return start_shaped(
      comm, request, [&](const Shadow&) { return plan_scan(count, type); },
      [&] { return PMPI_Iexscan(data, into, count, type, op, comm, request); });
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
