#pragma once
#include "thinwire/base/json_fwd.hpp"

namespace thinwire::cli {

/// What a record of `eval` says, for people, on stdout.
void print_evaluation(const Json& record);

}  // namespace thinwire::cli
