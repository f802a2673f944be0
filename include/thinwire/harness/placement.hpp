#pragma once
#include <span>
#include <string>
#include <vector>

#include "thinwire/base/json_fwd.hpp"
#include "thinwire/fabric/fabric.hpp"
#include "thinwire/fabric/transport.hpp"

namespace thinwire::harness {

/// Where one rank computes.
struct Placement {
  int host = 0;              ///< named by its lowest rank
  std::vector<int> allowed;  ///< cores of that host that the rank may run on
  double quota_cores = 0;    ///< that its cgroup grants; infinite without a limit
  std::vector<int> bound;    ///< of `allowed`, one a thread; empty: the threads move freely
};

/// Where every rank of `all` may run, with its threads bound as bind_cores says. Collective.
std::vector<Placement> placements(fabric::Transport& all, int devices, int threads,
                                  fabric::Clock clock);

/// Fills `bound`. Under virtual clocks one device computes at a time, and all use the first cores
/// that they may. On the wall clock the devices that may use the same cores of a host share them
/// out, or stay unbound where these do not suffice; a terminal, the rank behind the devices, works
/// while they sleep.
void bind_cores(std::span<Placement> places, int devices, int threads, fabric::Clock clock);

/// True when, somewhere, devices that compute at the same time ask for more threads than there are
/// cores for them, by affinity or by their cgroup's quota.
bool is_contended(std::span<const Placement> devices, int threads);

/// "0-1,4"; "" for none.
std::string core_list(std::span<const int> cores);
/// [{"host", "allowed_cores", "quota_cores", "bound_cores"}, ...]; null: no quota, not bound.
Json placements_json(std::span<const Placement> places);

}  // namespace thinwire::harness
