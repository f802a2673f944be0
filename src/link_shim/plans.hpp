#pragma once
#include <mpi.h>

#include <cstdint>

#include "link_shim/operation.hpp"
#include "link_shim/shadow.hpp"

namespace thinwire::link_shim {

/// `count` elements of `type`.
std::int64_t bytes_of(std::int64_t count, MPI_Datatype type);

// Each plan is the collective of its name; the arguments are MPI's own, as far as needed.

/// `my_bytes` go from this member to each other.
Plan plan_all_gather(std::int64_t my_bytes);
Plan plan_bcast(const Shadow& shadow, std::int64_t bytes, int root);
/// `my_bytes` go from this member to the root, or the other way round.
Plan plan_gather(const Shadow& shadow, std::int64_t my_bytes, int root);
Plan plan_scatter(const Shadow& shadow, std::int64_t my_bytes, int root);
/// The same number to each, or counts[member] of one type, or of types[member].
Plan plan_all_to_all(const Shadow& shadow, std::int64_t bytes_to_each);
Plan plan_all_to_all(const Shadow& shadow, const int* counts, MPI_Datatype type);
Plan plan_all_to_all(const Shadow& shadow, const int* counts, const MPI_Datatype* types);
Plan plan_reduce(const Shadow& shadow, int count, MPI_Datatype type, int root);
Plan plan_all_reduce(const Shadow& shadow, int count, MPI_Datatype type);
/// Member p gets counts[p].
Plan plan_reduce_scatter(const Shadow& shadow, const int* counts, MPI_Datatype type);
Plan plan_reduce_scatter_block(const Shadow& shadow, int count, MPI_Datatype type);
Plan plan_scan(int count, MPI_Datatype type);
Plan plan_barrier();

}  // namespace thinwire::link_shim
