#pragma once
#include <optional>
#include <span>

#include "thinwire/base/units.hpp"
#include "thinwire/harness/link_check.hpp"

namespace thinwire::harness {

/// The link that would explain what was measured.
struct LinkFit {
  Rate rate = Rate::unlimited();  ///< unlimited where more bytes took no longer
  Seconds latency;                ///< of a message, 0 or more
  double median_error = 0;        ///< median over the sizes of |fit / measured - 1|
};

/// Rate and latency of the link model whose times are nearest to the medians of `timings`, by least
/// squares on the relative error. Topology and packet overhead are taken as the setting has them.
/// Nothing where that cannot be told: fewer than two sizes, a time of 0, or a rate a device.
std::optional<LinkFit> fit_link(const LinkSetting& setting, std::span<const LinkTiming> timings);

}  // namespace thinwire::harness
