#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace thinwire::harness {

/// Payloads of a device, in whole bytes, as they go over a link: "14B,107bit..300kB:log:10". Bits
/// are rounded up to bytes; a size that a range yields twice is kept once.
/// Throws InputError for what is no size, for less than a bit and for ranges without a count.
std::vector<std::int64_t> parse_payload_sizes(std::string_view text);

}  // namespace thinwire::harness
