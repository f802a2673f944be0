#include "thinwire/harness/plan.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "plan_parts.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/eval/metric.hpp"
#include "thinwire/harness/point.hpp"
#include "thinwire/harness/spec_text.hpp"

namespace thinwire::harness {
namespace {

double score_of(const PlanEntry& entry, Objective objective) {
  switch (objective) {
    case Objective::latency:
      return entry.latency_s;
    case Objective::energy:
      return entry.energy_j;
    case Objective::bits:
      return static_cast<double>(entry.bits);
  }
  throw Error("an objective out of range");
}

/// `least` is the most of metrics that are better when lower.
std::string accuracy_objection(const PlanEntry& entry, double least) {
  // An exact strategy's answers are the model's own, whatever they are worth.
  if (!entry.accuracy) return entry.is_exact ? "" : "accuracy unknown: no record of it";
  const auto& [metric, value] = *entry.accuracy;
  const bool is_higher_better = eval::is_higher_better(metric);
  if (is_higher_better ? value >= least : value <= least) return "";
  return fmt::format("accuracy {:.3g} is {} --min-accuracy={}", value,
                     is_higher_better ? "below" : "above", exact_text(least));
}

/// Why an entry that can run does not do what was asked for, or "".
std::string objection_to(const PlanEntry& entry, const PlanRequest& request) {
  if (request.is_exact_only && !entry.is_exact) return "changes the answer (--exact)";
  if (request.min_accuracy)
    if (std::string reason = accuracy_objection(entry, *request.min_accuracy); !reason.empty())
      return reason;
  if (request.max_bits && entry.bits > 8 * request.max_bits->count())
    return fmt::format("sends {} a device, more than --max-bits={}",
                       to_string(Bytes((entry.bits + 7) / 8)), exact_text(*request.max_bits));
  if (request.max_latency && entry.latency_s > request.max_latency->value_s())
    return fmt::format("{} is above --max-latency={}", to_string(Seconds(entry.latency_s)),
                       exact_text(*request.max_latency));
  return "";
}

/// What can run, whatever the link says about time.
bool can_run(const Candidate& candidate) {
  return !std::isnan(candidate.entry.latency_s);
}

/// `link` with another rate; rates of single devices keep their ratios to the slowest one's.
fabric::Link at_rate(fabric::Link link, double bit_per_s) {
  const Rate slowest = std::ranges::min(link.rates);
  for (Rate& rate : link.rates) {
    const double ratio = slowest.is_unlimited() ? 1 : rate.bit_per_s() / slowest.bit_per_s();
    rate = Rate::bits_per_second(bit_per_s * ratio);
  }
  return link;
}

/// Finds the best of the candidates at any rate.
class Chooser {
 public:
  Chooser(std::vector<Candidate> candidates, const PlanRequest& request,
          const model::ModelConfig& config, const fabric::Link& link)
      : candidates_(std::move(candidates)), request_(request), config_(config), link_(link) {
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (can_run(candidates_[i])) order_.push_back({least_score(candidates_[i]), i});
    std::ranges::stable_sort(order_, {}, &Bounded::least);
  }

  std::optional<std::size_t> best_at(double bit_per_s, bool is_exact_only) {
    const fabric::Link link = at_rate(link_, bit_per_s);
    std::optional<std::size_t> best;
    double best_score = 0;
    for (const auto& [least, index] : order_) {
      if (best && least >= best_score) break;  // so are all behind it
      Candidate& candidate = candidates_[index];
      if (is_exact_only && !candidate.entry.is_exact) continue;
      const std::vector<Index> start = candidate.entry.spec.rows;  // of a rate nearby
      candidate.entry.excluded.clear();  // what another rate had against it
      estimate(candidate, config_, link, start);
      if (!candidate.entry.excluded.empty() || !objection_to(candidate.entry, request_).empty())
        continue;
      const double score = score_of(candidate.entry, request_.objective);
      if (best && score >= best_score) continue;
      best = index;
      best_score = score;
    }
    return best;
  }

 private:
  struct Bounded {
    double least;  ///< no rate gives a lower score
    std::size_t index;
  };

  /// Latency falls with the rate; of the other objectives nothing is known.
  double least_score(Candidate candidate) const {
    if (request_.objective != Objective::latency) return 0;
    fabric::Link link = link_;
    std::ranges::fill(link.rates, Rate::unlimited());
    estimate(candidate, config_, link);
    return candidate.entry.latency_s;
  }

  std::vector<Candidate> candidates_;
  const PlanRequest& request_;
  const model::ModelConfig& config_;
  const fabric::Link& link_;
  std::vector<Bounded> order_;
};

/// Those that meet the budget first, then those that could run, then the rest.
void sort_candidates(std::vector<Candidate>& candidates, Objective objective) {
  std::ranges::stable_sort(candidates, {}, [&](const Candidate& candidate) {
    const bool runs = can_run(candidate);
    return std::tuple(!candidate.entry.excluded.empty(), !runs,
                      runs ? score_of(candidate.entry, objective) : 0.0,
                      runs ? candidate.entry.latency_s : 0.0);
  });
}

void check_request(const PlanRequest& request, const RunSpec& base) {
  require_input(request.objective != Objective::energy || !base.device_power.empty(),
                "--objective=energy: --device-power (watts of a device that computes) is needed");
  require_input(!request.min_accuracy || !request.records.empty(),
                "--min-accuracy={}: --records FILE is needed, with records that know accuracies",
                request.min_accuracy.value_or(0));
}

}  // namespace

const PlanEntry* Plan::best() const {
  return entries.empty() || !entries.front().excluded.empty() ? nullptr : &entries.front();
}

const PlanEntry* Plan::best_exact() const {
  const auto found = std::ranges::find_if(
      entries, [](const PlanEntry& entry) { return entry.is_exact && entry.excluded.empty(); });
  return found == entries.end() ? nullptr : &*found;
}

Plan make_plan(const PlanRequest& request, const std::function<void(double)>& on_progress) {
  const KeyValues given = completed_options(request);
  Plan plan{.base = base_spec(given), .objective = request.objective};
  check_request(request, plan.base);
  const model::ModelConfig config = resolve_config(plan.base);
  const fabric::Link link = plan.base.links().front();
  const DeviceRates rates = device_rates(request, plan.base);

  std::vector<Candidate> candidates = make_candidates(given, plan.base, rates, config);
  for (Candidate& candidate : candidates) {
    if (!candidate.entry.excluded.empty()) continue;
    candidate.entry.accuracy = recorded_accuracy(request.records, candidate.entry.spec, config);
    estimate(candidate, config, link);
    if (candidate.entry.excluded.empty())
      candidate.entry.excluded = objection_to(candidate.entry, request);
  }
  sort_candidates(candidates, request.objective);
  for (const Candidate& candidate : candidates) plan.entries.push_back(candidate.entry);

  Chooser chooser(std::move(candidates), request, config, link);
  const auto choose = [&](bool is_exact_only, double done) {
    return choices_over_rates(
        request.slowest, request.fastest,
        [&](double bit_per_s) { return chooser.best_at(bit_per_s, is_exact_only); },
        [&](double part) {
          if (on_progress) on_progress(done + part / 2);
        });
  };
  plan.choices = choose(request.is_exact_only, 0);
  plan.exact_choices = request.is_exact_only ? plan.choices : choose(true, 0.5);
  return plan;
}

}  // namespace thinwire::harness
