#pragma once
#include "thinwire/harness/record.hpp"

namespace thinwire::harness {

/// The "time" section of a record.
Json time_section(const Result& result);

/// One link setting as records name it.
Json link_json(const fabric::Link& link);

/// Bits on the link in one iteration by formula, copies included.
std::int64_t predicted_link_bits(const Result& result, const fabric::Link& link);

/// What was counted, else what the formula says; null without either.
Json link_bits_json(const Result& result, std::size_t link);

}  // namespace thinwire::harness
