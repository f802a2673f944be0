#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "thinwire/base/units.hpp"

namespace thinwire::fabric {

/// How messages share the medium (ACCOUNTING 4).
enum class Topology {
  broadcast,  ///< a device transmits once, heard by all; devices do not contend
  unicast,    ///< full-duplex switch: P - 1 rounds, a copy a peer
  shared,     ///< one half-duplex medium carries every copy
};
Topology parse_topology(std::string_view name);  // InputError with the known names
std::string_view to_string(Topology topology);
std::string_view topology_summary(Topology topology);

/// One link setting. A formula header: no MPI.
struct Link {
  std::vector<Rate> rates{Rate::unlimited()};  ///< one for all devices, or one a device
  Seconds latency;                             ///< added to every message
  Topology topology = Topology::unicast;

  /// A transfer runs at the slower end. The terminal, a node beyond the devices that have rates of
  /// their own, is never the slower one.
  Rate between(int from, int to) const;
  bool operator==(const Link&) const = default;
};

/// "10Mbps" or "10Mbps:10Mbps:1Mbps" (one a device). Throws InputError.
std::vector<Rate> parse_rates(std::string_view text);
std::string rates_to_string(const std::vector<Rate>& rates);
/// "10 Mbps, 2 ms, unicast" for tables and messages.
std::string to_string(const Link& link);

}  // namespace thinwire::fabric
