#pragma once
#include "thinwire/base/json_fwd.hpp"

namespace thinwire::cli {

/// How far a measured record's outputs and hidden states are from the single device's, on stdout;
/// nothing when that was not asked for.
void print_agreement(const Json& record);

}  // namespace thinwire::cli
