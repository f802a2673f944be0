#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thinwire/base/json_fwd.hpp"
#include "thinwire/harness/block_rate.hpp"
#include "thinwire/harness/link_check.hpp"
#include "thinwire/harness/link_fit.hpp"
#include "thinwire/harness/point.hpp"

namespace thinwire::harness {

/// Name and version of a device profile; a changed meaning gets a new number.
inline constexpr std::string_view kProfileSchema = "thinwire.profile/1";

/// What to measure of this machine: filled, checked, then only read.
struct CalibrationSpec {
  Point point;                    ///< model, threads, iterations
  std::vector<Index> rows;        ///< ascending
  std::optional<LinkCheck> link;  ///< of one setting; nothing with a device alone
  std::string json;               ///< file, "-", or nothing
  int ranks() const { return link ? link->ranks() : 1; }
};
/// From options of a run, --rows and --sizes. Throws InputError that names the option: among
/// others for a link whose clock would only give back what it was told.
CalibrationSpec make_calibration_spec(const KeyValues& fields,
                                      const std::map<std::string, std::string>& own);

/// This machine as a device, and its link to others like it.
struct Profile {
  std::string model;  ///< base name
  int threads = 1;
  DType dtype = DType::fp32;
  std::int64_t memory_bytes = 0;  ///< available before the model was loaded
  std::vector<BlockRate> rates;
  std::vector<LinkTiming> timings;  ///< what the link's rate and latency are fitted to
  std::optional<LinkFit> link;      ///< nothing with a device alone, or where there is no fit
  Json environment;
};

/// The root computes while the other ranks sleep, then all of them try the link. With progress on
/// stderr. Collective over all ranks of the session; the root gets the profile.
std::optional<Profile> calibrate(Session& session, const CalibrationSpec& spec);

/// A profile of kProfileSchema, as `plan` reads it.
Json to_json(const Profile& profile, const CalibrationSpec& spec);

/// Throws InputError unless a profile can be written to `file`. Writes nothing; called before
/// anything is measured.
void check_profile_place(const std::string& file);
/// Writes `profile` whole or not at all. Throws InputError when the place cannot be written.
void write_profile(const std::string& file, const Json& profile);

}  // namespace thinwire::harness
