#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thinwire/base/json_fwd.hpp"
#include "thinwire/fabric/fabric.hpp"
#include "thinwire/harness/run_spec.hpp"
#include "thinwire/harness/session.hpp"
#include "thinwire/harness/statistics.hpp"

namespace thinwire::harness {

/// Name and version of link-check's records; a changed meaning gets a new number.
inline constexpr std::string_view kLinkCheckSchema = "thinwire.link-check/1";

/// A link that all-gathers are timed on. Under the native clock the medium is whatever MPI uses,
/// and the link's rate only what the formula is told.
struct LinkSetting {
  int devices = 2;  ///< P
  fabric::Link link;
  fabric::Clock clock = fabric::Clock::emulated;
  int iterations = 10, warmup = 2;
  Seconds timeout{600};  ///< of the watchdog; 0: none
};

/// All-gathers of one size.
struct LinkTiming {
  std::int64_t bytes = 0;     ///< from each device
  double formula_s = 0;       ///< by the link model
  Summary measured_s;         ///< from the common start to the last device's end, one an iteration
  bool is_contended = false;  ///< wall clocks: the devices had too few cores

  /// How far the median is from the formula, as a part of it; NaN where the formula is 0.
  double error() const;
};

/// Time until the last of `devices`, all ready at 0, has `bytes` from every other.
double all_gather_formula_s(const fabric::Link& link, int devices, std::int64_t bytes);

/// Times all-gathers of `sizes` (bytes a device), and nothing else: no device computes. Checks that
/// every byte arrives. Collective over `transport`, which has setting.devices ranks; all get the
/// same result.
///   watchdog     told of every iteration's waits; may be null
///   on_progress  told the part that is done, 0 to 1, after every iteration
std::vector<LinkTiming> time_all_gathers(fabric::Transport& transport, const LinkSetting& setting,
                                         std::span<const std::int64_t> sizes,
                                         fabric::Watchdog* watchdog,
                                         const std::function<void(double)>& on_progress);

/// The same on the first ranks of a launch; ranks beyond them sleep. Collective over all ranks; the
/// root gets the result, the others nothing.
std::vector<LinkTiming> check_link(Session& session, const LinkSetting& setting,
                                   std::span<const std::int64_t> sizes,
                                   const std::function<void(double)>& on_progress);

/// Link settings one after the other, sizes on each.
struct LinkCheck {
  std::vector<LinkSetting> settings;
  std::vector<std::int64_t> sizes;
  std::string json;  ///< file, or "-"
  /// Most MPI ranks that a setting needs.
  int ranks() const;
};
/// From options of a run (a setting for each of several values) and --sizes, checked.
/// Throws InputError that names the option.
LinkCheck make_link_check(const KeyValues& fields, const std::map<std::string, std::string>& own);

/// The sizes that are tried without --sizes: from an index frame's to a picture's.
inline constexpr std::string_view kDefaultSizes = "107bit..300kB:log:8";

/// A record of kLinkCheckSchema.
Json to_json(const LinkSetting& setting, const LinkTiming& timing, const Json& environment);

}  // namespace thinwire::harness
