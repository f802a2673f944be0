#pragma once
#include <vector>

namespace thinwire::ops {

/// Cores that the calling thread may run on, ascending.
std::vector<int> allowed_cores();

/// Binds the calling thread's OpenMP team, thread i to cores[i], for as long as the object lives.
/// Threads that sleep and wake at every handover of work would otherwise be put on one core by the
/// scheduler now and then, and a device would seem up to twice as slow.
class ThreadBinding {
 public:
  /// Does nothing when there are fewer cores than threads (omp_get_max_threads()).
  explicit ThreadBinding(const std::vector<int>& cores);
  ThreadBinding(const ThreadBinding&) = delete;
  ~ThreadBinding();

 private:
  std::vector<int> before_;  // empty: nothing was bound
};

}  // namespace thinwire::ops
