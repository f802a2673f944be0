#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "thinwire/base/json_fwd.hpp"
#include "thinwire/harness/run_spec.hpp"

namespace thinwire::harness {

/// Flags with lists and ranges become points: the product of "--devices 2,3 --segments 10,20",
/// the last option running fastest. Rates, latencies and topologies stay together in a point, but
/// on a wall clock; per-device values never spread. Equal points are kept once.
/// Throws InputError, naming the point when there are several.
std::vector<RunSpec> expand(const KeyValues& given);

/// The points of a sweep.
struct Sweep {
  std::string name;
  std::vector<RunSpec> points;
};

/// {"name", "base": {options of all points}, "matrix": {option: value, list or range},
///  "points": [{options}, ...]}: first the product of the matrix, then the explicit points (a list
/// in one of them spreads, too), each over `base`; a null takes an option of `base` away.
/// "exclude": [{options}, ...] leaves out the points that have all options of one of these (a list
/// or range stands for any of its values). `overrides`, from the command line, win over all of
/// them. Throws InputError for unknown keys, a wrong point and an exclusion that matches nothing.
Sweep make_sweep(const Json& document, const KeyValues& overrides = {});
/// The same from a file, which names the sweep when the document does not.
Sweep read_sweep(const std::filesystem::path& file, const KeyValues& overrides = {});

}  // namespace thinwire::harness
