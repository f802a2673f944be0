#include "link_shim/agreement.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>

#include "link_shim/world.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/base/text.hpp"
#include "thinwire/fabric/link_model.hpp"

namespace thinwire::link_shim {
namespace {

/// Collective: ends the job, with the first rank's problem as its message, unless no rank has one.
void end_job_on(const std::string& problem) {
  const int none = world_size();
  const int mine = problem.empty() ? none : world_rank();
  int first = none;
  PMPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (first == none) return;
  if (world_rank() == first) {
    say(problem);
    PMPI_Abort(MPI_COMM_WORLD, 2);
  }
  // The others are ended; if they aborted as well, Open MPI would complain about that.
  for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
}

bool is_equal_on_all(std::uint64_t value) {
  // One reduction: the largest value and, by its complement, the smallest.
  const std::array<std::uint64_t, 2> mine = {value, ~value};
  std::array<std::uint64_t, 2> most{};
  PMPI_Allreduce(mine.data(), most.data(), 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
  return most[0] == ~most[1];
}

int count_hosts() {
  MPI_Comm host = MPI_COMM_NULL;
  PMPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int rank = 0, hosts = 0;
  PMPI_Comm_rank(host, &rank);
  PMPI_Comm_free(&host);
  const int mine = rank == 0 ? 1 : 0;
  PMPI_Allreduce(&mine, &hosts, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return hosts;
}

/// The settings of this rank, or what is wrong with them.
Settings checked_settings(std::string& problem) {
  try {
    Settings settings = read_settings([](const char* name) { return std::getenv(name); });
    if (settings.link) fabric::LinkModel(*settings.link, world_size());
    return settings;
  } catch (const InputError& error) {
    problem = error.what();
    return {};
  }
}

std::uint64_t hash_of(const Settings& settings) {
  return fnv1a(fmt::format("{} {}", settings.link ? fabric::to_string(*settings.link) : "none",
                           settings.report));
}

}  // namespace

Settings agreed_settings() {
  std::string problem;
  Settings settings = checked_settings(problem);
  end_job_on(problem);
  if (!is_equal_on_all(hash_of(settings)))
    end_job_on("the ranks have different THINWIRE_ variables: hand them on with mpirun -x NAME");
  const int hosts = settings.link ? count_hosts() : 1;
  if (hosts != 1)
    end_job_on(
        fmt::format("the {} ranks are on {} hosts, whose clocks differ: start them all on "
                    "one host",
                    world_size(), hosts));
  return settings;
}

}  // namespace thinwire::link_shim
