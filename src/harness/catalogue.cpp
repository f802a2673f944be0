#include "thinwire/harness/catalogue.hpp"

#include "thinwire/fabric/fabric.hpp"
#include "thinwire/model/model_config.hpp"
#include "thinwire/strategy/strategy.hpp"

namespace thinwire::harness {

std::vector<CatalogueSection> catalogue() {
  CatalogueSection models{
      "models (--model), or a Hugging Face folder with config.json and model.safetensors", {}};
  for (const std::string_view name : model::preset_names())
    models.entries.emplace_back(name, model::preset_summary(name));
  CatalogueSection strategies{"strategies (--strategy)", {}};
  for (const strategy::StrategyEntry& entry : strategy::strategies())
    strategies.entries.emplace_back(entry.name, entry.summary);
  CatalogueSection topologies{"topologies (--topology)", {}};
  for (const auto topology :
       {fabric::Topology::broadcast, fabric::Topology::unicast, fabric::Topology::shared})
    topologies.entries.emplace_back(fabric::to_string(topology),
                                    fabric::topology_summary(topology));
  CatalogueSection clocks{"clocks (--clock)", {}};
  for (const auto clock : {fabric::Clock::emulated, fabric::Clock::modelled,
                           fabric::Clock::throttled, fabric::Clock::native})
    clocks.entries.emplace_back(fabric::to_string(clock), fabric::clock_summary(clock));
  return {models, strategies, topologies, clocks};
}

}  // namespace thinwire::harness
