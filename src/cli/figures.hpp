#pragma once
#include <string>

#include "thinwire/base/json_fwd.hpp"

namespace thinwire::cli {

// Figures of a record as people read them; "-" for null.

std::string seconds(const Json& value);
std::string bytes(const Json& value);
/// Bits with a decimal prefix.
std::string bits(const Json& value);
/// Bit/s; null is what no rate reaches.
std::string rate(const Json& value);
/// Joules with a decimal prefix.
std::string joules(const Json& value);
/// A link setting: "10 Mbps, 2 ms, unicast".
std::string link_name(const Json& link);
/// A line of its own about packets that never arrived; "" where the link drops none.
std::string losses_line(const Json& record);

}  // namespace thinwire::cli
