#pragma once
#include <nlohmann/json_fwd.hpp>

namespace thinwire {

/// Keeps the order in which keys are set. For headers that only name it; base/json.hpp has it whole.
using Json = nlohmann::ordered_json;

}  // namespace thinwire
