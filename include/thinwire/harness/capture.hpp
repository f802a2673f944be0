#pragma once
#include <vector>

#include "thinwire/fabric/fabric.hpp"
#include "thinwire/strategy/strategy.hpp"

namespace thinwire::harness {

/// What one untimed pass of one sequence left on all devices, in global row order.
struct Capture {
  Matrix<float> values;               ///< logits or embedding
  std::vector<Matrix<float>> hidden;  ///< layers + 1 of [N, D]
};

/// Runs `strategy` once, looking inside, and brings everything to device 0; the others get an empty
/// Capture. Collective over the fabric's devices.
Capture capture_pass(const model::Model& model, strategy::Strategy& strategy,
                     fabric::Transport& transport, fabric::Fabric& fabric,
                     const model::ModelInput& input);

/// The same model on one device, by this process alone.
Capture capture_single(const model::Model& model, const model::ModelInput& input, int threads);

}  // namespace thinwire::harness
