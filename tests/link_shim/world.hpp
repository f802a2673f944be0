#pragma once
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "thinwire/base/units.hpp"

/// What the programs under the shim have in common. They know nothing of it: the link's figures
/// come from the environment, to say what must not be undercut.
namespace thinwire::link_shim {

inline int rank_of(MPI_Comm comm = MPI_COMM_WORLD) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

inline int size_of(MPI_Comm comm = MPI_COMM_WORLD) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}

/// `count` numbers that no other seed has.
inline std::vector<int> numbers(int seed, int count = 7) {
  std::vector<int> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 1000 * (seed + 1));
  return values;
}

/// numbers() of all seeds below `seeds`, one after the other.
inline std::vector<int> all_numbers(int seeds, int count = 7) {
  std::vector<int> all;
  for (int seed = 0; seed < seeds; ++seed) {
    const std::vector<int> some = numbers(seed, count);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

/// The clock that all ranks of a host share.
inline double clock_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline double link_latency_s() {
  return Seconds::parse(std::getenv("THINWIRE_LATENCY")).value_s();
}

/// How long the link needs for `bytes`, without latency.
inline double link_s(double bytes) {
  return Rate::parse(std::getenv("THINWIRE_RATE")).seconds_for(8 * bytes);
}

/// The latest of a time of all ranks, on all ranks.
inline double latest(double time_s) {
  double most = time_s;
  MPI_Allreduce(&time_s, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return most;
}
inline double earliest(double time_s) {
  return -latest(-time_s);
}

}  // namespace thinwire::link_shim
