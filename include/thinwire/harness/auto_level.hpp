#pragma once
#include <span>

#include "thinwire/harness/run_spec.hpp"
#include "thinwire/model/model_config.hpp"

namespace thinwire::harness {

/// Turns level=auto into a level among `levels` (sizes, coarsest first), by formula: the finest
/// whose messages take no longer than the local work behind which they travel, under every link of
/// the spec (cost/overlap.hpp); without such a level the one with the lowest latency under the
/// slowest link. Judged are the exchanges behind the first: that one has little to hide behind, and
/// in some strategies no codes. Leaves other specs as they are.
///
/// Devices are taken to have rows in proportion to their speed when partition=auto is open as well.
void resolve_level(RunSpec& spec, const model::ModelConfig& config, std::span<const Index> levels);

}  // namespace thinwire::harness
