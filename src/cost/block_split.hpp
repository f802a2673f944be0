#pragma once
#include "thinwire/cost/workload.hpp"

namespace thinwire::cost {

// The strategies that split blocks or what is in them, not tokens.

/// tensor (METHODS 4). Throws InputError when there are more devices than heads or FFN columns.
Prediction predict_tensor(const Workload& workload);

/// pipeline (METHODS 5). Throws InputError when there are more devices than blocks.
Prediction predict_pipeline(const Workload& workload);

}  // namespace thinwire::cost
