#include "thinwire/strategy/member.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "thinwire/strategy/sequence_parallel.hpp"
#include "thinwire/strategy/terminal.hpp"

namespace thinwire::strategy {
namespace {

/// The same lengths as each device lays them out: room for what any of them publishes.
std::vector<Layout> layouts_of_all(std::span<const Layout> layouts) {
  std::vector<Layout> all;
  for (Layout layout : layouts)
    for (layout.device = 0; layout.device < layout.devices(); ++layout.device)
      all.push_back(layout);
  return all;
}

std::vector<TerminalPlan> terminal_plans(std::span<const Layout> layouts,
                                         const model::ModelConfig& config, Collect collect) {
  std::vector<TerminalPlan> plans;
  for (const Layout& layout : layouts) plans.push_back(sequence_plan(layout, config, collect));
  return plans;
}

}  // namespace

std::unique_ptr<Strategy> make_member(const model::Model& model, const StrategyOptions& options,
                                      const DeviceRole& role, const Member& member) {
  TW_REQUIRE(role.batch >= 1, "a device role for batches of {}", role.batch);
  const bool has_peers = role.devices > 1;
  std::vector<Layout> layouts = make_layouts(role, options, has_peers ? member.replicated : 0);
  const auto exchange_for = [&](std::span<const Layout> all) {
    return has_peers ? member.make_exchange(all) : nullptr;
  };
  std::vector<TerminalPlan> plans;
  if (options.io == Io::terminal) plans = terminal_plans(layouts, model.config(), options.collect);
  if (role.device == role.devices)
    return std::make_unique<Terminal>(model, role, std::move(plans),
                                      exchange_for(layouts_of_all(layouts)));

  Index columns = 0;
  for (const Layout& layout : layouts) columns = std::max(columns, member.columns(layout));
  const bool has_terminal = options.io == Io::terminal;  // which sends one sequence at a time
  std::vector<std::unique_ptr<Exchange>> exchanges;
  for (int sample = 0; sample < (has_terminal ? 1 : role.batch); ++sample)
    exchanges.push_back(exchange_for(layouts));
  std::optional<TerminalLink> terminal;
  if (has_terminal) terminal.emplace(model, role, std::move(plans), exchanges.front().get());
  const Overlap overlap = options.overlap.value_or(member.overlaps) ? Overlap::yes : Overlap::no;
  return std::make_unique<SequenceParallel>(model, role, std::move(layouts), std::move(exchanges),
                                            columns, overlap, std::move(terminal));
}

}  // namespace thinwire::strategy
