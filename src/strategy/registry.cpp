#include <algorithm>
#include <array>

#include "thinwire/base/named.hpp"
#include "thinwire/strategy/prism.hpp"
#include "thinwire/strategy/sequence_parallel.hpp"
#include "thinwire/strategy/strategy.hpp"
#include "thinwire/strategy/voltage.hpp"

namespace thinwire::strategy {
namespace {

std::unique_ptr<Strategy> make_single(const model::Model& model, const StrategyOptions& options,
                                      const DeviceRole& role) {
  require_input(role.devices == 1, "strategy=single with devices={} (it has one)", role.devices);
  std::vector<Layout> layouts = make_layouts(role, options);
  const Index columns = longest(layouts);
  return std::make_unique<SequenceParallel>(model, role, std::move(layouts), nullptr, columns);
}

std::unique_ptr<Strategy> make_voltage(const model::Model& model, const StrategyOptions& options,
                                       const DeviceRole& role) {
  std::vector<Layout> layouts = make_layouts(role, options);
  const Index columns = longest(layouts);
  std::unique_ptr<Exchange> exchange;
  if (role.devices > 1) exchange = std::make_unique<VoltageExchange>(model, role, layouts);
  return std::make_unique<SequenceParallel>(model, role, std::move(layouts), std::move(exchange),
                                            columns);
}

std::unique_ptr<Strategy> make_prism(const model::Model& model, const StrategyOptions& options,
                                     const DeviceRole& role) {
  std::vector<Layout> layouts = make_layouts(role, options);
  Index columns = 0;
  for (const Layout& layout : layouts) {
    const Index means =
        (layout.devices() - 1) * segments_for(options, layout.tokens(), layout.devices());
    const bool repeats = options.scaling == compress::Scaling::duplicate;
    columns = std::max(columns, repeats ? layout.tokens() : layout.local_tokens() + means);
  }
  std::unique_ptr<Exchange> exchange;
  if (role.devices > 1) exchange = std::make_unique<PrismExchange>(model, role, options, layouts);
  return std::make_unique<SequenceParallel>(model, role, std::move(layouts), std::move(exchange),
                                            columns);
}

constexpr std::array kStrategies = {
    StrategyEntry{"single", "one device runs every token", make_single},
    StrategyEntry{"voltage", "tokens split, full activations exchanged; exact", make_voltage},
    StrategyEntry{"prism", "tokens split, segment means exchanged", make_prism}};

}  // namespace

std::span<const StrategyEntry> strategies() {
  return kStrategies;
}

std::vector<std::string_view> strategy_names() {
  std::vector<std::string_view> names;
  for (const StrategyEntry& entry : kStrategies) names.push_back(entry.name);
  return names;
}

std::unique_ptr<Strategy> make_strategy(std::string_view name, const model::Model& model,
                                        const StrategyOptions& options, const DeviceRole& role) {
  return find_named("strategy", name, kStrategies).make(model, options, role);
}

}  // namespace thinwire::strategy
