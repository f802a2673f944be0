#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "thinwire/base/json_fwd.hpp"
#include "thinwire/base/types.hpp"
#include "thinwire/base/units.hpp"
#include "thinwire/harness/auto_partition.hpp"

namespace thinwire::harness {

/// What `calibrate` found out about a device and its link (schema thinwire.profile/1).
struct DeviceProfile {
  /// A rate at a number of rows.
  struct Rate {
    Index rows = 0;
    double flops_per_s = 0;
  };

  std::string model;          ///< that it was measured with
  DType dtype = DType::fp32;  ///< of the products that were measured
  std::vector<Rate> rates;    ///< at least one, rows ascending
  std::optional<Bytes> memory;
  KeyValues link;  ///< rate, latency, ... as options have them; empty: not measured

  /// Between two measured row counts on a straight line, beyond them the nearest, in FLOP/s.
  double flops_per_s_at(Index rows) const;
};

/// Throws InputError: "device.json: <what is wrong>".
DeviceProfile read_profile(const std::filesystem::path& file);
DeviceProfile profile_from_json(const Json& document);

/// The rates of devices with a profile each.
DeviceRates rates_of(std::vector<DeviceProfile> profiles);

}  // namespace thinwire::harness
