#pragma once
#include "thinwire/base/json_fwd.hpp"

namespace thinwire::cli {

/// A record for people, on stdout: what ran, operations, traffic, memory, a line a link setting,
/// and the answer for real input.
void print_record(const Json& record);

}  // namespace thinwire::cli
