#pragma once
#include <functional>
#include <span>
#include <vector>

#include "thinwire/harness/run_spec.hpp"
#include "thinwire/model/model_config.hpp"

namespace thinwire::harness {

/// FLOP/s of every device when it computes on so many rows, [P] -> [P].
using DeviceRates = std::function<std::vector<double>(std::span<const Index> rows)>;

/// Those of --device-gflops, whatever the rows.
DeviceRates fixed_rates(const RunSpec& spec);

/// Rows that every device computes on when it owns `rows`: all `tokens` where a strategy does not
/// split them.
std::vector<Index> computed_rows(const RunSpec& spec, std::span<const Index> rows, Index tokens);

/// The division of a sequence of `tokens` (N) with the lowest modelled latency, of several links
/// under the slowest one, in which each device has the rows that its strategy needs and, if it can
/// be, the memory (cost/row_search.hpp says how thorough the search is). Deterministic.
///   start  rows found for a similar case, or empty: a nearby minimum is enough then
///   returns the rows that devices own, [P]: a replicated class token is not among them
/// Throws InputError for a spec that cannot run in any division.
std::vector<Index> find_rows(const RunSpec& spec, const model::ModelConfig& config, Index tokens,
                             const DeviceRates& rates, std::span<const Index> start = {});

/// Fills the rows of a resolved spec with partition=auto; leaves others as they are, and those that
/// cannot run.
void resolve_rows(RunSpec& spec, const model::ModelConfig& config, Index tokens);

}  // namespace thinwire::harness
