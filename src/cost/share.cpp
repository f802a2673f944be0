#include "thinwire/cost/share.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "thinwire/base/error.hpp"
#include "thinwire/base/named.hpp"

namespace thinwire::cost {
namespace {

Share whole_sequence(Index tokens) {
  return {.local = tokens, .projected = tokens, .columns = tokens};
}

Plan plan_single(const Workload& workload, std::span<const Slice>) {
  require_input(workload.devices == 1, "strategy=single runs on one device, not on devices={}",
                workload.devices);
  return {{whole_sequence(workload.tokens)}, 0};
}

Plan plan_voltage(const Workload& workload, std::span<const Slice> slices) {
  const Index tokens = workload.tokens;
  Plan plan;
  for (const Slice& slice : slices)
    plan.shares.push_back({.local = slice.size,
                           .projected = tokens,
                           .columns = tokens,
                           .published = slice.size,
                           .received = tokens});
  plan.nominal_tokens = static_cast<double>(tokens) / workload.devices;
  return plan;
}

Plan plan_prism(const Workload& workload, std::span<const Slice> slices) {
  const Index segments = workload.segments, devices = workload.devices;
  const bool repeats = workload.scaling == compress::Scaling::duplicate;
  Plan plan;
  for (const Slice& slice : slices) {
    compress::segment_lengths(slice.size, segments);  // throws unless 1 <= L <= n_p
    const Index remote = repeats ? workload.tokens - slice.size : (devices - 1) * segments;
    plan.shares.push_back({.local = slice.size,
                           .projected = slice.size + remote,
                           .columns = slice.size + remote,
                           .published = segments,
                           .encoded = segments,
                           .received = devices * segments,
                           .repeated = repeats ? workload.tokens : 0});
  }
  plan.nominal_tokens = static_cast<double>(segments);
  return plan;
}

struct PlanEntry {
  std::string_view name;
  Plan (*make)(const Workload&, std::span<const Slice>);
};
constexpr std::array kPlans = {PlanEntry{"single", plan_single}, PlanEntry{"voltage", plan_voltage},
                               PlanEntry{"prism", plan_prism}};

void check(const Workload& workload) {
  require_input(workload.tokens >= 1, "tokens={}: a sequence has at least one token",
                workload.tokens);
  require_input(workload.devices >= 1, "devices={}: at least one device has to compute",
                workload.devices);
  require_input(workload.threads >= 1, "threads={}: a device computes with at least one thread",
                workload.threads);
  require_input(workload.model.is_text() || workload.tokens == workload.model.tokens,
                "tokens={}: model {} makes {} tokens of its input", workload.tokens,
                workload.model.name, workload.model.tokens);
}

}  // namespace

Plan make_plan(const Workload& workload) {
  const PlanEntry& entry = find_named("strategy", workload.strategy, kPlans);
  check(workload);
  const std::vector<Slice> slices =
      partition(workload.tokens, workload.devices, workload.partition, workload.weights);
  Plan plan = entry.make(workload, slices);
  if (workload.devices == 1) return {{whole_sequence(workload.tokens)}, 0};
  return plan;
}

}  // namespace thinwire::cost
