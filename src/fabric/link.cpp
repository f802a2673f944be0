#include "thinwire/fabric/link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

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

Link link_of(RateTrace trace) {
  Link link{.rates = {trace.mean_rate()}};
  link.trace = std::move(trace);
  return link;
}

Link at_mean_rate(Link link) {
  link.trace.reset();
  return link;
}

PacketOverhead parse_overhead(std::string_view text) {
  if (text == "none") return {};
  if (text == "tcp") return kTcpOverhead;
  const std::vector<std::string> parts = split(text, '/');
  require_input(parts.size() == 2, "'{}' is neither none, tcp nor HEADERS/PAYLOAD (66B/1448B)",
                text);
  const PacketOverhead overhead{Bytes::parse(parts[0]).count(), Bytes::parse(parts[1]).count()};
  require_input(overhead.payload_bytes > 0, "'{}': a packet carries at least 1 byte", text);
  return overhead;
}

std::string to_string(const PacketOverhead& overhead) {
  if (overhead.header_bytes == 0) return "none";
  if (overhead == kTcpOverhead) return "tcp";
  return fmt::format("{}B/{}B", overhead.header_bytes, overhead.payload_bytes);
}

std::int64_t Link::bytes_on_link(std::int64_t message_bytes) const {
  const std::int64_t packets =
      (message_bytes + overhead.payload_bytes - 1) / overhead.payload_bytes;
  return message_bytes + packets * overhead.header_bytes;
}

std::int64_t Link::mean_bytes_on_link(std::int64_t message_bytes, int receivers) const {
  const std::int64_t once = bytes_on_link(message_bytes);
  if (!loss.repeats()) return once;
  return std::llround(static_cast<double>(once) * loss.mean_transmissions(receivers));
}

std::int64_t Link::packet_bytes() const {
  return overhead.header_bytes > 0 ? overhead.payload_bytes : kTcpOverhead.payload_bytes;
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
  const std::string overhead = to_string(link.overhead);
  const std::string rates = rates_to_string(link.rates);
  return fmt::format(
      "{}, {}, {}{}{}", link.trace ? link.trace->name() : rates, to_string(link.latency),
      to_string(link.topology), overhead == "none" ? "" : fmt::format(", overhead {}", overhead),
      link.loss.probability > 0 ? fmt::format(", loss {:g}%", 100 * link.loss.probability) : "");
}

}  // namespace thinwire::fabric
