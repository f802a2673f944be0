#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "thinwire/base/json.hpp"

namespace thinwire::harness {

/// JSON as it travels between ranks: CBOR, which keeps doubles to the last bit, infinity too.
std::vector<std::byte> pack_json(const Json& json);
Json unpack_json(std::span<const std::byte> bytes);

}  // namespace thinwire::harness
