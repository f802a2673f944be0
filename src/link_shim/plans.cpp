#include "link_shim/plans.hpp"

#include <cstddef>
#include <utility>
#include <vector>

namespace thinwire::link_shim {

namespace {

using Bytes = std::span<const std::int64_t>;

Plan plan_all_to_all(std::vector<std::int64_t> bytes_to) {
  return {std::move(bytes_to), [](CollectiveTimes& times, Bytes all) { times.all_to_all(all); }};
}

}  // namespace

std::int64_t bytes_of(std::int64_t count, MPI_Datatype type) {
  MPI_Count size = 0;
  PMPI_Type_size_x(type, &size);
  return count * static_cast<std::int64_t>(size);
}

Plan plan_all_gather(std::int64_t my_bytes) {
  return {{my_bytes}, [](CollectiveTimes& times, Bytes all) { times.all_gather(all); }};
}

Plan plan_bcast(const Shadow& shadow, std::int64_t bytes, int root) {
  return plan_all_gather(shadow.rank() == root ? bytes : 0);
}

Plan plan_gather(const Shadow& shadow, std::int64_t my_bytes, int root) {
  return {{shadow.rank() == root ? 0 : my_bytes},
          [root](CollectiveTimes& times, Bytes all) { times.gather(root, all); }};
}

Plan plan_scatter(const Shadow& shadow, std::int64_t my_bytes, int root) {
  return {{shadow.rank() == root ? 0 : my_bytes},
          [root](CollectiveTimes& times, Bytes all) { times.scatter(root, all); }};
}

Plan plan_all_to_all(const Shadow& shadow, std::int64_t bytes_to_each) {
  return plan_all_to_all(
      std::vector<std::int64_t>(static_cast<std::size_t>(shadow.size()), bytes_to_each));
}

Plan plan_all_to_all(const Shadow& shadow, const int* counts, MPI_Datatype type) {
  const std::vector<MPI_Datatype> types(static_cast<std::size_t>(shadow.size()), type);
  return plan_all_to_all(shadow, counts, types.data());
}

Plan plan_all_to_all(const Shadow& shadow, const int* counts, const MPI_Datatype* types) {
  std::vector<std::int64_t> bytes_to;
  for (int p = 0; p < shadow.size(); ++p) bytes_to.push_back(bytes_of(counts[p], types[p]));
  return plan_all_to_all(std::move(bytes_to));
}

// The sizes of a reduction are the same on all members: none needs to be told.

Plan plan_reduce(const Shadow& shadow, int count, MPI_Datatype type, int root) {
  return {{},
          [root, chunks = balanced_chunks(count, bytes_of(1, type), shadow.size())](
              CollectiveTimes& times, Bytes) { times.reduce(root, chunks); }};
}

Plan plan_all_reduce(const Shadow& shadow, int count, MPI_Datatype type) {
  return {{},
          [chunks = balanced_chunks(count, bytes_of(1, type), shadow.size())](
              CollectiveTimes& times, Bytes) { times.all_reduce(chunks); }};
}

Plan plan_reduce_scatter(const Shadow& shadow, const int* counts, MPI_Datatype type) {
  std::vector<std::int64_t> chunks;
  for (int p = 0; p < shadow.size(); ++p) chunks.push_back(bytes_of(counts[p], type));
  return {{}, [chunks](CollectiveTimes& times, Bytes) { times.reduce_scatter(chunks); }};
}

Plan plan_reduce_scatter_block(const Shadow& shadow, int count, MPI_Datatype type) {
  const std::vector<int> counts(static_cast<std::size_t>(shadow.size()), count);
  return plan_reduce_scatter(shadow, counts.data(), type);
}

Plan plan_scan(int count, MPI_Datatype type) {
  return {{},
          [bytes = bytes_of(count, type)](CollectiveTimes& times, Bytes) { times.scan(bytes); }};
}

Plan plan_barrier() {
  return {{}, [](CollectiveTimes& times, Bytes) { times.barrier(); }};
}

}  // namespace thinwire::link_shim
