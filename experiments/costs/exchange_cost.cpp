// What the fabric adds to a collective: an exchange under the native clock beside the bare
// MPI_Allgatherv of the same bytes, in turn in the same processes, and whether MPI is handed the
// sender's and the receiver's own memory. Prints rows of a Markdown table; exit status 1 when a
// figure misses its target.
//
//   mpirun --oversubscribe --bind-to none -n 2 exchange_cost [BYTES [BLOCKS]]
#include <fmt/format.h>
#include <mpi.h>

#include <cstdlib>
#include <cstring>

#include "figure.hpp"
#include "thinwire/fabric/fabric.hpp"
#include "thinwire/fabric/mpi_session.hpp"
#include "thinwire/ops/runtime.hpp"
#include "thinwire/ops/thread_binding.hpp"

namespace thinwire::costs {
namespace {

constexpr double kTarget = 1.05;
constexpr int kCalls = 200;  // a block of 20 to 40 ms

/// What MPI was last called with.
struct Seen {
  const void* sent = nullptr;
  const void* received = nullptr;
};
Seen& seen() {
  static Seen last;
  return last;
}

/// The slower rank's time of every block.
Paired slower(fabric::Transport& ranks, const Paired& mine) {
  const auto of_all = [&](const std::vector<double>& samples_s) {
    std::vector<double> slowest_s(samples_s.size());
    for (const auto& bytes : fabric::gather_all(ranks, std::as_bytes(std::span(samples_s)))) {
      std::vector<double> theirs_s(samples_s.size());
      std::memcpy(theirs_s.data(), bytes.data(), bytes.size());
      for (std::size_t i = 0; i < slowest_s.size(); ++i)
        slowest_s[i] = std::max(slowest_s[i], theirs_s[i]);
    }
    return slowest_s;
  };
  return {of_all(mine.ours_s), of_all(mine.bare_s)};
}

bool measure(fabric::MpiSession& session, std::size_t bytes, int blocks) {
  fabric::Transport& world = session.world();
  const auto ranks = static_cast<std::size_t>(world.size());
  fabric::FabricOptions options;
  options.clock = fabric::Clock::native;
  const auto fabric = fabric::make_fabric(world, options);
  const std::vector<std::byte> mine(bytes, static_cast<std::byte>(world.rank() + 1));
  std::vector<std::byte> all(ranks * bytes);
  std::vector<int> counts(ranks, static_cast<int>(bytes)), begins(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) begins[rank] = static_cast<int>(rank * bytes);

  const auto ours = [&] { fabric->wait(fabric->all_gather({mine}, all)); };
  const auto bare = [&] {
    MPI_Allgatherv(mine.data(), counts[0], MPI_BYTE, all.data(), counts.data(), begins.data(),
                   MPI_BYTE, MPI_COMM_WORLD);
  };
  fabric->begin_iteration();
  ours();
  const bool is_copied = seen().sent != mine.data() || seen().received != all.data();
  const Paired paired = slower(world, alternate(blocks, kCalls, ours, bare));
  fabric->end_iteration();

  bool is_right = true;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    is_right = is_right && all[rank * bytes] == static_cast<std::byte>(rank + 1);
  if (world.rank() != 0) return true;
  const std::string name = fmt::format("exchange of {} kB a rank, P = {}", bytes / 1000, ranks);
  bool holds = print_ratio(name, paired, kTarget);
  fmt::print("| its copies beside MPI's | {} | 0 | | | 0 | {} |\n", is_copied ? "some" : "0",
             is_copied ? "FAIL" : "pass");
  if (!is_right) fmt::print("wrong bytes arrived\n");
  return holds && !is_copied && is_right;
}

}  // namespace
}  // namespace thinwire::costs

/// MPI's profiling interface: what the fabric passes on is seen here.
extern "C" int MPI_Allgatherv(const void* sent, int count, MPI_Datatype type, void* received,
                              const int* counts, const int* begins, MPI_Datatype received_type,
                              MPI_Comm communicator) {
  thinwire::costs::seen() = {sent, received};
  return PMPI_Allgatherv(sent, count, type, received, counts, begins, received_type, communicator);
}

int main(int argc, char** argv) {
  using namespace thinwire;
  const std::size_t bytes = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 300'000;
  const int blocks = argc > 2 ? std::atoi(argv[2]) : 31;
  fabric::MpiSession session(argc, argv);
  const std::vector<int> cores = ops::allowed_cores();
  ops::set_threads(1);
  const ops::ThreadBinding binding(
      {cores[static_cast<std::size_t>(session.node_rank()) % cores.size()]});
  const bool holds = costs::measure(session, bytes, blocks);
  return session.rank() == 0 && !holds ? 1 : 0;
}
