#include "print_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "figures.hpp"
#include "thinwire/base/json.hpp"

namespace thinwire::cli {
namespace {

using harness::PlanEntry;

/// "prism --segments 10", "single (device 1)"
std::string name_of(const PlanEntry& entry) {
  std::string name = entry.options.front().second;
  for (const auto& [option, value] : entry.options)
    if (option != "strategy") name += fmt::format(" --{} {}", option, value);
  if (entry.device >= 0) name += fmt::format(" (device {})", entry.device);
  return name;
}

/// "66,66,65", or the extremes of many.
std::string rows_of(const PlanEntry& entry) {
  const std::vector<Index>& rows = entry.spec.rows;
  constexpr std::size_t kMostShown = 5;
  if (rows.empty()) return "";
  if (rows.size() > kMostShown)
    return fmt::format("{} to {}", std::ranges::min(rows), std::ranges::max(rows));
  return fmt::format("{}", fmt::join(rows, ","));
}

bool runs(const PlanEntry& entry) {
  return !std::isnan(entry.latency_s);
}

std::string answer_of(const PlanEntry& entry) {
  if (entry.is_exact) return "exact";
  if (!entry.accuracy) return "changes, accuracy unknown";
  return fmt::format("changes, {} {:.3g}", entry.accuracy->metric, entry.accuracy->value);
}

void print_heading(const harness::Plan& plan) {
  const harness::RunSpec& base = plan.base;
  const Json spec = harness::to_json(base);
  fmt::print("{} on {} device{}, {}; by formula, lowest {} first\n",
             spec.at("model").get<std::string>(), base.devices, base.devices == 1 ? "" : "s",
             to_string(base.links().front()), to_string(plan.objective));
}

std::string command_of(const PlanEntry& entry) {
  std::string command = "thinwire run";
  for (const auto& [option, value] : harness::run_options(entry.spec))
    command += fmt::format(" --{} {}", option, value);
  return command;
}

void print_choice(const char* title, const PlanEntry& entry) {
  fmt::print("  {:<11} {}: {}\n              {}\n", title, name_of(entry),
             to_string(Seconds(entry.latency_s)), command_of(entry));
}

void print_best(const harness::Plan& plan) {
  const PlanEntry *best = plan.best(), *exact = plan.best_exact();
  if (best == nullptr) {
    fmt::print("  best        none: nothing meets what was asked for\n");
    return;
  }
  print_choice("best", *best);
  if (exact != nullptr && exact != best) print_choice("best exact", *exact);
}

void print_row(const PlanEntry& entry) {
  fmt::print("  {:<28} {:<16} {:>9} {:>9} {:>9} {:>11} {:>8} {:>8}", name_of(entry), rows_of(entry),
             seconds(entry.latency_s), seconds(entry.compute_s), seconds(entry.wait_s),
             bits(entry.bits), bytes(entry.memory_bytes), joules(finite_or_null(entry.energy_j)));
}

void print_header(const char* last) {
  fmt::print("\n  {:<28} {:<16} {:>9} {:>9} {:>9} {:>11} {:>8} {:>8}  {}\n", "strategy", "rows",
             "latency", "compute", "waiting", "sends", "memory", "energy", last);
}

void print_fitting(const harness::Plan& plan) {
  if (plan.best() == nullptr) return;
  print_header("answer");
  for (const PlanEntry& entry : plan.entries) {
    if (!entry.excluded.empty()) break;
    print_row(entry);
    fmt::print("  {}\n", answer_of(entry));
  }
}

void print_excluded(const harness::Plan& plan) {
  if (plan.entries.empty() || plan.entries.back().excluded.empty()) return;
  print_header("why not");
  for (const PlanEntry& entry : plan.entries) {
    if (entry.excluded.empty()) continue;
    if (runs(entry))
      print_row(entry);
    else
      fmt::print("  {:<28} {:<16} {:>9} {:>9} {:>9} {:>11} {:>8} {:>8}", name_of(entry), "", "-",
                 "-", "-", "-", "-", "-");
    fmt::print("  {}\n", entry.excluded);
  }
}

void print_choices(const harness::Plan& plan, const char* title,
                   const std::vector<harness::PlanChoice>& choices) {
  fmt::print("\n  {:<28} {} (the choice flips in between)\n", "rate of the link", title);
  for (const harness::PlanChoice& choice : choices)
    fmt::print("  {:<28} {}\n",
               fmt::format("{} .. {}", rate(choice.from.bit_per_s()), rate(choice.to.bit_per_s())),
               choice.entry ? name_of(plan.entries.at(*choice.entry)) : "none");
}

/// A plan that allows nothing else has one list.
bool has_inexact_choices(const harness::Plan& plan) {
  return std::ranges::any_of(plan.choices, [&](const harness::PlanChoice& choice) {
    return choice.entry && !plan.entries.at(*choice.entry).is_exact;
  });
}

}  // namespace

void print_plan(const harness::Plan& plan) {
  print_heading(plan);
  print_best(plan);
  print_fitting(plan);
  print_excluded(plan);
  print_choices(plan, "best", plan.choices);
  if (has_inexact_choices(plan)) print_choices(plan, "best exact", plan.exact_choices);
  const bool is_unknown = std::ranges::any_of(plan.entries, [](const PlanEntry& entry) {
    return !entry.is_exact && entry.excluded.empty() && !entry.accuracy;
  });
  if (is_unknown)
    fmt::print(
        "\n  Strategies that change the answer may change it much: their accuracy is unknown "
        "here.\n"
        "  --records FILE takes it from records that hold it, --exact leaves them out.\n");
}

}  // namespace thinwire::cli
