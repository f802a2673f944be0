#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "thinwire/base/units.hpp"
#include "thinwire/fabric/loss.hpp"
#include "thinwire/fabric/rate_trace.hpp"

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

/// What a protocol puts around a message: it is cut into packets, each with headers of its own.
struct PacketOverhead {
  std::int64_t header_bytes = 0;   ///< a packet
  std::int64_t payload_bytes = 1;  ///< most of a message that a packet carries

  bool operator==(const PacketOverhead&) const = default;
};
/// TCP with time stamps over IPv4 and Ethernet frames of 1500 bytes (no preamble, no gap).
inline constexpr PacketOverhead kTcpOverhead{66, 1448};
/// "none", "tcp" or "66B/1448B" (headers a packet / payload a packet). Throws InputError.
PacketOverhead parse_overhead(std::string_view text);
std::string to_string(const PacketOverhead& overhead);

/// One link setting. A formula header: no MPI.
struct Link {
  std::vector<Rate> rates{Rate::unlimited()};  ///< one for all devices, or one a device
  Seconds latency;                             ///< added to every message
  Topology topology = Topology::unicast;
  PacketOverhead overhead;  ///< travels with every message, at the link's rate
  /// When given, transfers follow it instead of `rates`, which hold its mean for formulas that know
  /// one rate.
  std::optional<RateTrace> trace;
  Loss loss;                ///< of its packets

  /// What the link carries for a message.
  std::int64_t bytes_on_link(std::int64_t message_bytes) const;
  /// The same with the retransmissions to expect until `receivers` have all of it, rounded.
  std::int64_t mean_bytes_on_link(std::int64_t message_bytes, int receivers) const;
  /// What a lost packet takes along of a message: the payload of the overhead's packets, or of
  /// TCP's where none is given. A message of less is one packet, as short as it is.
  std::int64_t packet_bytes() const;
  /// A transfer runs at the slower end. The terminal, a node beyond the devices that have rates of
  /// their own, is never the slower one.
  Rate between(int from, int to) const;
  bool operator==(const Link&) const = default;
};

/// A link on which every transfer runs at the trace's rate at that time.
Link link_of(RateTrace trace);
/// The same link at its mean rate; one without a trace as it is.
Link at_mean_rate(Link link);

/// "10Mbps" or "10Mbps:10Mbps:1Mbps" (one a device). Throws InputError.
std::vector<Rate> parse_rates(std::string_view text);
std::string rates_to_string(const std::vector<Rate>& rates);
/// "10 Mbps, 2 ms, unicast" (with a trace, "lte.csv, 2 ms, unicast") for tables and messages.
std::string to_string(const Link& link);

}  // namespace thinwire::fabric
