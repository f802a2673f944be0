#pragma once
#include "thinwire/base/json_fwd.hpp"

namespace thinwire::cli {

/// What the model said about real input, beside the single device's answer, on stdout.
void print_answer(const Json& answer);

}  // namespace thinwire::cli
