#pragma once
#include <vector>

#include "thinwire/base/json.hpp"
#include "thinwire/harness/run_spec.hpp"

namespace thinwire::harness {

/// Takes away the points that have all options of one of `exclusions`, a list of objects of
/// options; a list or range in one of them stands for any of its values. Points need not be valid:
/// excluding is a way to leave out what cannot be combined.
/// Throws InputError for an exclusion that matches no point, unless `overrides` names one of its
/// options.
void exclude(std::vector<KeyValues>& points, const Json& exclusions, const KeyValues& overrides);

}  // namespace thinwire::harness
