#pragma once
#include <cstdint>
#include <string>

#include "thinwire/base/json_fwd.hpp"

namespace thinwire::harness {

/// What only the launched job knows about where it runs.
struct Launch {
  std::string mpi;  ///< "Open MPI 4.1.4"; empty without MPI
  int hosts = 1;
};

/// Where and with what a record was made: CPU, cores, memory, compiler, library versions, git
/// revision. No user name, host name or path.
Json environment(const Launch& launch);

/// Cores' worth of time that this process' cgroup grants, which may be a fraction; infinite without
/// a quota.
double quota_cores();
/// Cores that this process may use: the smaller of its affinity and its cgroup's quota, which may
/// be a fraction.
double granted_cores();

/// Memory that this process may still take, in bytes: of the machine, or of its control group where
/// that leaves less.
std::int64_t available_memory_bytes();

/// Memory that this process alone has written (Private_Dirty, without node memory), in bytes; 0
/// where the kernel does not tell. Clean pages of files, such as code, are the page cache's.
std::int64_t resident_private_bytes();

/// "1a2b3c4", "1a2b3c4-dirty" with uncommitted changes, or "unknown" outside a repository; as of
/// the build.
std::string git_revision();

}  // namespace thinwire::harness
