#include "link_shim/settings.hpp"

#include <string_view>

#include "thinwire/base/error.hpp"

namespace thinwire::link_shim {
namespace {

/// parse(value) where the variable is set, `otherwise` where it is not.
template <class Value, class Parse>
Value read(const std::function<const char*(const char*)>& variable, const char* name,
           Value otherwise, Parse parse) {
  const char* const text = variable(name);
  if (text == nullptr) return otherwise;
  try {
    return parse(std::string_view(text));
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", name, error.what()));
  }
}

bool parse_switch(std::string_view text) {
  require_input(text == "0" || text == "1", "value={} is neither 0 nor 1", text);
  return text == "1";
}

}  // namespace

Settings read_settings(const std::function<const char*(const char*)>& variable) {
  Settings settings;
  fabric::Link link;
  link.rates = read(variable, "THINWIRE_RATE", link.rates, fabric::parse_rates);
  link.latency = read(variable, "THINWIRE_LATENCY", link.latency, Seconds::parse);
  link.topology = read(variable, "THINWIRE_TOPOLOGY", link.topology, fabric::parse_topology);
  link.overhead = read(variable, "THINWIRE_OVERHEAD", link.overhead, fabric::parse_overhead);
  settings.report = read(variable, "THINWIRE_REPORT", settings.report, parse_switch);
  if (variable("THINWIRE_RATE") != nullptr) settings.link = link;
  return settings;
}

}  // namespace thinwire::link_shim
