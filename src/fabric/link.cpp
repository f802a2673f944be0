#include "thinwire/fabric/link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "thinwire/base/error.hpp"
#include "thinwire/base/named.hpp"

namespace thinwire::fabric {
namespace {

struct TopologyEntry {
  Topology topology;
  std::string_view name, summary;
};
constexpr std::array kTopologies = {
    TopologyEntry{Topology::broadcast, "broadcast",
                  "a device transmits once, heard by all; devices do not contend"},
    TopologyEntry{Topology::unicast, "unicast", "full-duplex switch, one copy a peer"},
    TopologyEntry{Topology::shared, "shared", "one half-duplex medium carries every copy"}};

const TopologyEntry& entry_of(Topology topology) {
  return *std::ranges::find(kTopologies, topology, &TopologyEntry::topology);
}

}  // namespace

Topology parse_topology(std::string_view name) {
  return find_named("topology", name, kTopologies).topology;
}

std::string_view to_string(Topology topology) {
  return entry_of(topology).name;
}
std::string_view topology_summary(Topology topology) {
  return entry_of(topology).summary;
}

Rate Link::between(int from, int to) const {
  if (rates.size() == 1) return rates.front();
  const auto rate_of = [this](int node) {
    const auto index = static_cast<std::size_t>(node);
    return index < rates.size() ? rates[index] : Rate::unlimited();
  };
  return std::min(rate_of(from), rate_of(to));
}

std::vector<Rate> parse_rates(std::string_view text) {
  std::vector<Rate> rates;
  for (const std::string& part : split(text, ':')) rates.push_back(Rate::parse(part));
  return rates;
}

std::string rates_to_string(const std::vector<Rate>& rates) {
  std::string text;
  for (const Rate rate : rates) {
    if (!text.empty()) text += ':';
    text += to_string(rate);
  }
  return text;
}

std::string to_string(const Link& link) {
  return fmt::format("{}, {}, {}", rates_to_string(link.rates), to_string(link.latency),
                     to_string(link.topology));
}

}  // namespace thinwire::fabric
