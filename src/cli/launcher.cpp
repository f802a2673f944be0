#include "launcher.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "failure.hpp"
#include "thinwire/base/error.hpp"

namespace thinwire::cli {
namespace {

// About 20 us on current cores.
constexpr const char* kSpinCount = "4000";

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

/// srun starts tasks that know nothing of each other unless it is told which MPI they speak; each
/// would start ranks of its own, inside a step that has no room for them.
void refuse_tasks_without_mpi() {
  const char* const tasks = std::getenv("SLURM_STEP_NUM_TASKS");
  require_input(tasks == nullptr || std::atoi(tasks) <= 1,
                "srun started {} tasks without MPI; use srun --mpi=pmix, or mpirun in its place",
                tasks == nullptr ? "" : tasks);
}

}  // namespace

void limit_thread_spinning(char** argv) {
  if (std::getenv("GOMP_SPINCOUNT") != nullptr || std::getenv("OMP_WAIT_POLICY") != nullptr) return;
  setenv("GOMP_SPINCOUNT", kSpinCount, 1);
  execv("/proc/self/exe", argv);
  // Without /proc the run goes on, only slower.
}

bool is_speaker() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"})
    if (const char* rank = std::getenv(name)) return std::strcmp(rank, "0") == 0;
  return true;
}

std::vector<std::string> job_command(const Arguments& arguments, int ranks,
                                     const std::string& variable) {
  std::vector<std::string> words;
  if (ranks > 1) {
    refuse_tasks_without_mpi();
    words = {"mpirun", "--oversubscribe", "--bind-to", "none", "-n", std::to_string(ranks)};
    if (!variable.empty()) words.insert(words.end(), {"-x", variable});
    if (geteuid() == 0) {  // containers: Open MPI refuses root unless told twice
      setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
      setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    }
  }
  words.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
  words.insert(words.end(), arguments.argv + 1, arguments.argv + arguments.argc);
  return words;
}

void restart_under_mpirun(const Arguments& arguments, int ranks) {
  std::vector<std::string> words = job_command(arguments, ranks);
  execvp("mpirun", pointers(words).data());
  throw InputError(fmt::format(
      "{} MPI ranks are needed, and mpirun could not be started ({}); on Debian: apt-get install "
      "openmpi-bin",
      ranks, std::strerror(errno)));
}

int with_session(const Arguments& arguments, int ranks,
                 const std::function<int(harness::Session&)>& work) {
  int argc = arguments.argc;
  char** argv = arguments.argv;
  harness::Session session(argc, argv);
  if (session.ranks() < ranks) {
    // All ranks see it, so all leave in order; one of them says it.
    if (session.is_root())
      fmt::print(stderr,
                 "thinwire: {} MPI ranks are needed, one for each of --devices and one for the "
                 "terminal of --io=terminal, and there {} only {} (without mpirun, thinwire starts "
                 "them itself)\n",
                 ranks, session.ranks() == 1 ? "is" : "are", session.ranks());
    return kBadInput;
  }
  try {
    return work(session);
  } catch (const std::exception& exception) {
    if (session.ranks() == 1) throw;
    const Failure failure = failure_of(exception);
    session.abort(failure.message, failure.status);
  }
}

}  // namespace thinwire::cli
