#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "thinwire/base/json.hpp"
#include "thinwire/base/units.hpp"
#include "thinwire/harness/device_profile.hpp"
#include "thinwire/harness/run_spec.hpp"

namespace thinwire::harness {

/// What the best strategy has least of.
enum class Objective {
  latency,
  energy,  ///< of all devices in one inference
  bits,    ///< of the device that sends most in one inference
};
Objective parse_objective(std::string_view name);  // InputError with the known names
std::string_view to_string(Objective objective);

/// Options of RunSpec that a plan goes by.
std::vector<std::string_view> plan_fields();

struct PlanRequest {
  /// Of plan_fields(): devices, link, model; lists of strategies and of their options narrow what
  /// is compared.
  KeyValues given;
  std::vector<DeviceProfile> profiles;  ///< empty, one for all devices, or one a device
  Objective objective = Objective::latency;
  std::optional<Seconds> max_latency;
  std::optional<Bytes> max_bits;  ///< that a device sends in one inference
  std::optional<double> min_accuracy;
  std::vector<Json> records;  ///< that may know the accuracy of a candidate
  bool is_exact_only = false;
  Rate slowest = Rate::bits_per_second(1e5);  ///< bounds of PlanChoice
  Rate fastest = Rate::bits_per_second(1e10);
};

/// From the options of `thinwire plan`, by name without dashes; reads the files that they name.
/// Throws InputError: "--max-bits=1: ...".
PlanRequest make_plan_request(const std::map<std::string, std::string>& options);

/// What records say about a candidate's answers.
struct RecordedAccuracy {
  std::string metric;
  double value = 0;
};

/// A strategy with its options, as far as a formula can tell.
struct PlanEntry {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

  RunSpec spec;       ///< resolved: rows, level, and the rates that the devices have at these rows
  KeyValues options;  ///< that tell it apart from the others: strategy, segments, ...
  int device = -1;    ///< single: the one that computes
  bool is_exact = false;
  double latency_s = kUnknown;
  double compute_s = kUnknown, wait_s = kUnknown;  ///< of the device that ends last
  double energy_j = kUnknown;                      ///< needs powers
  std::int64_t bits = 0;  ///< that the busiest device sends in one inference, copies included
  std::int64_t memory_bytes = 0;  ///< of the device that needs most
  std::optional<RecordedAccuracy> accuracy;
  std::string excluded;  ///< why it is out of the question, or ""
};

/// The best candidate between two rates of the link.
struct PlanChoice {
  Rate from, to;
  std::optional<std::size_t> entry;  ///< nothing: none meets the budget
};

struct Plan {
  RunSpec base;  ///< the devices, the link and the model, without a strategy
  Objective objective = Objective::latency;
  /// The best first; behind those that meet the budget the others.
  std::vector<PlanEntry> entries;
  std::vector<PlanChoice> choices;        ///< over the rates asked for, ascending
  std::vector<PlanChoice> exact_choices;  ///< the same among those that keep the answer

  const PlanEntry* best() const;        ///< null when none meets the budget
  const PlanEntry* best_exact() const;  ///< among those that keep the answer
};

/// Compares every strategy and every value of its options by formula, with rows divided for the
/// lowest latency where --partition does not say otherwise; finds the rates at which another one
/// becomes best, to a part in 10^4. A link with a rate a device keeps their ratios; the rate then
/// is that of its slowest device.
///   on_progress  told the part (0 to 1) that is done
/// Throws InputError for options that say too little or contradict each other.
Plan make_plan(const PlanRequest& request, const std::function<void(double)>& on_progress = {});

/// The options of `thinwire run` and `predict` that mean `spec`, as far as plan_fields() go.
KeyValues run_options(const RunSpec& spec);

/// {"schema": "thinwire.plan/1", ...}: keys carry units, null is unknown.
Json to_json(const Plan& plan);

}  // namespace thinwire::harness
