#pragma once
#include <span>

#include "thinwire/strategy/terminal.hpp"

namespace thinwire::strategy {

inline constexpr std::int64_t kMessageHeaderBytes = 4;  // the device's index

/// Bytes of the payloads of exchange 0 but that of `but_device` (-1: all). The exchange has begun a
/// pass in the plan's layout, of any device.
std::int64_t payload_bytes(const TerminalPlan& plan, int but_device, Exchange* exchange);
/// Bytes of the terminal's message to `device`.
std::int64_t message_bytes(const TerminalPlan& plan, int device, Index hidden, Exchange* exchange);

const TerminalPlan& find_plan(std::span<const TerminalPlan> plans, Index tokens);

}  // namespace thinwire::strategy
