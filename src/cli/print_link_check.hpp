#pragma once
#include <optional>

#include "thinwire/base/json_fwd.hpp"
#include "thinwire/harness/link_fit.hpp"

namespace thinwire::cli {

/// One link's records on stdout: a line a size, measured beside the formula, then the fit.
void print_link_check(const Json& records, const std::optional<harness::LinkFit>& fit);

/// "9.98 Mbps, 12 us (median error 0.4 %)", or why there is none.
std::string fit_text(const std::optional<harness::LinkFit>& fit);

}  // namespace thinwire::cli
