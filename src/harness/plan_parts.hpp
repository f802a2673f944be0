#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "thinwire/harness/plan.hpp"
#include "thinwire/model/model_config.hpp"

// What a plan is put together from.
namespace thinwire::harness {

/// The options of a request with what follows from its profiles: devices, memory, link, and rates
/// at equal shares of the rows. Throws InputError when devices or their rates remain unknown.
KeyValues completed_options(const PlanRequest& request);

/// The devices, the link and the model of completed options; no strategy of its own.
RunSpec base_spec(const KeyValues& given);

/// A strategy and options to be compared.
struct Candidate {
  PlanEntry entry;
  DeviceRates rates;  ///< of the devices that it uses
};

/// Every strategy that the options allow, with every value of its own options. One that cannot be
/// set up at all is there with the reason.
std::vector<Candidate> make_candidates(const KeyValues& given, const RunSpec& base,
                                       const DeviceRates& rates, const model::ModelConfig& config);

/// The rates of the request's devices. Throws InputError for profiles of another model.
DeviceRates device_rates(const PlanRequest& request, const RunSpec& base);

/// Fills what an entry shows under `link`, or why it cannot run.
///   start  as for find_rows
void estimate(Candidate& candidate, const model::ModelConfig& config, const fabric::Link& link,
              std::span<const Index> start = {});

/// What records say about the answers of `spec`: the last accuracy of an equal configuration, else
/// the part of its answers that are right, or equal to the single device's.
std::optional<RecordedAccuracy> recorded_accuracy(std::span<const Json> records,
                                                  const RunSpec& spec,
                                                  const model::ModelConfig& config);

/// Which entry is best from rate to rate: `best_at` is asked on a grid of eight rates a decade, and
/// between neighbours that differ until the flip is known to a part in 10^4.
std::vector<PlanChoice> choices_over_rates(
    Rate slowest, Rate fastest,
    const std::function<std::optional<std::size_t>(double bit_per_s)>& best_at,
    const std::function<void(double)>& on_progress);

}  // namespace thinwire::harness
