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

}  // namespace thinwire::fabric
