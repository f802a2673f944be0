#pragma once
#include <cstdint>
#include <map>
#include <string>

namespace thinwire::fabric {

/// What one device handed to MPI as payload since the last reset; own contributions, once each.
struct Traffic {
  std::int64_t payload_bits = 0;  ///< without headers and padding
  std::int64_t header_bits = 0;
  std::int64_t padding_bits = 0;
  std::int64_t wire_bytes = 0;                    ///< whole bytes: (payload + header + padding) / 8
  std::int64_t exchanges = 0;                     ///< collectives that carried payload
  std::map<std::string, std::int64_t> mpi_calls;  ///< by MPI function, stamps included
};

/// What did not reach one device of what its peers sent it, where a link drops packets.
struct LossCounts {
  std::int64_t packets = 0, lost_packets = 0;  ///< sent to it; of these not arrived
  std::int64_t rows = 0, lost_rows = 0;        ///< that they were about, over all exchanges

  LossCounts& operator+=(const LossCounts& other) {
    packets += other.packets;
    lost_packets += other.lost_packets;
    rows += other.rows;
    lost_rows += other.lost_rows;
    return *this;
  }
  bool operator==(const LossCounts&) const = default;
};

}  // namespace thinwire::fabric
