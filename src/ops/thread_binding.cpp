#include "thinwire/ops/thread_binding.hpp"

#include <omp.h>
#include <sched.h>

#include <span>

namespace thinwire::ops {
namespace {

/// Failing is harmless: the run is only noisier.
void allow_this_thread(std::span<const int> cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set);
}

}  // namespace

std::vector<int> allowed_cores() {
  std::vector<int> cores;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  return cores;
}

ThreadBinding::ThreadBinding(const std::vector<int>& cores) {
  if (cores.size() < static_cast<std::size_t>(omp_get_max_threads())) return;
  before_ = allowed_cores();
#pragma omp parallel
  allow_this_thread({&cores[static_cast<std::size_t>(omp_get_thread_num())], 1});
}

ThreadBinding::~ThreadBinding() {
  if (before_.empty()) return;
#pragma omp parallel
  allow_this_thread(before_);
}

}  // namespace thinwire::ops
