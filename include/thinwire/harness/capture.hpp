#pragma once
#include <cstdint>
#include <vector>

#include "thinwire/fabric/fabric.hpp"
#include "thinwire/strategy/strategy.hpp"

namespace thinwire::harness {

/// What one untimed pass of one sequence left on all devices, in global row order.
struct Capture {
  Matrix<float> values;                       ///< logits or embedding
  std::vector<Matrix<float>> hidden;          ///< layers + 1 of [N, D]
  std::vector<Matrix<std::int32_t>> indices;  ///< [tokens, G] sent in each exchange, or empty
};

/// Runs `strategy` once, looking inside, and brings everything to rank 0; the others get an empty
/// Capture. Collective over `transport`: the fabric's devices, and the terminal if there is one.
Capture capture_pass(const model::Model& model, strategy::Strategy& strategy,
                     fabric::Transport& transport, fabric::Fabric& fabric,
                     const model::ModelInput& input);

/// The same model on one device, by this process alone.
Capture capture_single(const model::Model& model, const model::ModelInput& input, int threads);

}  // namespace thinwire::harness
