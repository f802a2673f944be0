#include "packed_json.hpp"

#include <cstdint>

namespace thinwire::harness {

std::vector<std::byte> pack_json(const Json& json) {
  const std::vector<std::uint8_t> cbor = Json::to_cbor(json);
  const auto bytes = std::as_bytes(std::span(cbor));
  return {bytes.begin(), bytes.end()};
}

Json unpack_json(std::span<const std::byte> bytes) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return Json::from_cbor(first, first + bytes.size());
}

}  // namespace thinwire::harness
