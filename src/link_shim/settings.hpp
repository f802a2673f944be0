#pragma once
#include <functional>
#include <optional>

#include "thinwire/fabric/link.hpp"

namespace thinwire::link_shim {

/// What the environment asks for.
struct Settings {
  std::optional<fabric::Link> link;  ///< none without THINWIRE_RATE: messages pass unshaped
  bool report = false;
};

/// Reads THINWIRE_RATE, _LATENCY, _TOPOLOGY, _OVERHEAD and THINWIRE_REPORT through `variable`,
/// which gives a variable's value or null. Throws InputError that names variable, value and reason.
Settings read_settings(const std::function<const char*(const char*)>& variable);

}  // namespace thinwire::link_shim
