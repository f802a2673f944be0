// The all-gather of the link model as an MPI program for SimGrid's SMPI: in round k of P - 1,
// device s sends its payload to device s + k. Built with smpicxx and run by smpirun (simgrid.sh),
// since SMPI brings an MPI of its own. Prints a line a size: bytes and simulated seconds, from the
// common start to the last device's end.
//
//   smpirun -platform FILE -hostfile FILE -np P smpi_allgather BYTES...
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

double all_gather_seconds(std::size_t bytes, int rank, int size) {
  const std::vector<char> mine(bytes);
  std::vector<char> all(bytes * static_cast<std::size_t>(size));
  const int count = static_cast<int>(bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  double begin = MPI_Wtime(), end = 0, first = 0, last = 0;
  for (int round = 1; round < size; ++round) {
    const int to = (rank + round) % size, from = (rank - round + size) % size;
    MPI_Sendrecv(mine.data(), count, MPI_BYTE, to, round,
                 &all[bytes * static_cast<std::size_t>(from)], count, MPI_BYTE, from, round,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  end = MPI_Wtime();
  // Simulated time is one for all: the barrier's stragglers start late, the rest waits for them.
  MPI_Reduce(&begin, &first, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(&end, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  return last - first;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 1; i < argc; ++i) {
    const std::size_t bytes = std::strtoull(argv[i], nullptr, 10);
    const double seconds = all_gather_seconds(bytes, rank, size);
    if (rank == 0) std::printf("%zu %.9g\n", bytes, seconds);
  }
  MPI_Finalize();
}
