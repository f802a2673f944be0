#pragma once
#include "thinwire/base/json_fwd.hpp"

namespace thinwire::cli {

/// The times of a record, on stdout: a line a link setting; below it what a terminal, a pipeline or
/// overlapping exchanges add.
void print_times(const Json& record);

}  // namespace thinwire::cli
