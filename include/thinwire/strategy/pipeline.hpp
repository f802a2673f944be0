#pragma once
#include <memory>

#include "thinwire/strategy/strategy.hpp"

namespace thinwire::strategy {

/// GPipe (METHODS 5): every device runs some consecutive blocks on every row, the first one embeds,
/// the last one has the output. A pass answers options.micro_batches copies of its input: in step
/// t, stage s works on copy t - s and then sends its N * hidden values to stage s + 1.
/// With several copies the last stage marks Milestone::first_output. Observers see the first copy.
/// A terminal sends all embedded copies to the first stage and collects as many answers.
/// Throws InputError when P exceeds the blocks, and without a micro-batch.
std::unique_ptr<Strategy> make_pipeline(const model::Model& model, const StrategyOptions& options,
                                        const DeviceRole& role);

}  // namespace thinwire::strategy
