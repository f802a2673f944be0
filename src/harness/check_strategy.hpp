#pragma once
#include <optional>
#include <string>

#include "thinwire/harness/run_spec.hpp"
#include "thinwire/model/model_config.hpp"

// The rules of check_spec.hpp about options of single strategies.
namespace thinwire::harness {

/// Throws InputError for an option that the strategy has no use for, or a value that it cannot
/// have.
void check_strategy_options(const RunSpec& spec);
/// The same for values that depend on the model.
void check_strategy_options(const RunSpec& spec, const model::ModelConfig& config);

/// Why a strategy cannot run on so many devices, or with so many segments; nothing when it can.
std::optional<std::string> strategy_misfit(const RunSpec& spec, const model::ModelConfig& config,
                                           Index tokens);

/// The same before the rows of partition=auto are known: whether it can in any division.
std::optional<std::string> division_misfit(RunSpec spec, const model::ModelConfig& config,
                                           Index tokens);

}  // namespace thinwire::harness
