#pragma once
#include <cstdint>

#include "thinwire/cost/share.hpp"

namespace thinwire::cost {

/// Parameters that every device holds, fp32. GPT-2's LM head is a second, packed copy of the token
/// table. Packing pads some products' outputs to whole blocks; that is not counted.
std::int64_t weights_bytes(const model::ModelConfig& model, Index tokens);

/// Workspace of a pass on `device`, term by term what a strategy allocates: all fp32 or int32.
std::int64_t activations_bytes(const Workload& workload, const Share& share, int device);

}  // namespace thinwire::cost
