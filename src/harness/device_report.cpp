#include "thinwire/harness/device_report.hpp"

#include "packed_json.hpp"

namespace thinwire::fabric {

static void to_json(Json& json, const LinkTimes& t) {
  json = {t.compute_s, t.wait_s, t.hidden_s, t.skew_s, t.milestone_s};
}
static void from_json(const Json& json, LinkTimes& t) {
  t = {json.at(0), json.at(1), json.at(2), json.at(3), json.at(4)};
}

static void to_json(Json& json, const Traffic& t) {
  json = {t.payload_bits, t.header_bits, t.padding_bits, t.wire_bytes, t.exchanges, t.mpi_calls};
}
static void from_json(const Json& json, Traffic& t) {
  t = {json.at(0), json.at(1), json.at(2), json.at(3), json.at(4), json.at(5)};
}

static void to_json(Json& json, const TimelineEvent& e) {
  json = {static_cast<int>(e.kind), e.name, e.layer, e.link, e.device, e.start_s, e.duration_s};
}
static void from_json(const Json& json, TimelineEvent& e) {
  e = {static_cast<TimelineEvent::Kind>(json.at(0).get<int>()),
       json.at(1),
       json.at(2),
       json.at(3),
       json.at(4),
       json.at(5),
       json.at(6)};
}

static void to_json(Json& json, const LossCounts& l) {
  json = {l.packets, l.lost_packets, l.rows, l.lost_rows};
}
static void from_json(const Json& json, LossCounts& l) {
  l = {json.at(0), json.at(1), json.at(2), json.at(3)};
}

static void to_json(Json& json, const DeviceIteration& i) {
  const Operations& o = i.operations;
  json = {i.links,
          i.link_bits,
          {o.matmul_macs, o.layer_norm_elements, o.softmax_elements, o.gelu_elements,
           o.residual_elements, o.bias_elements},
          i.traffic,
          i.windows_s,
          i.wall_s,
          i.eviction_s,
          i.repeated_packets,
          i.losses};
}
static void from_json(const Json& json, DeviceIteration& i) {
  const Json& o = json.at(2);
  i = {json.at(0), json.at(1), {o.at(0), o.at(1), o.at(2), o.at(3), o.at(4), o.at(5)},
       json.at(3), json.at(4), json.at(5),
       json.at(6), json.at(7), json.at(8)};
}

}  // namespace thinwire::fabric

namespace thinwire::harness {

std::vector<std::byte> pack(const DeviceReport& report) {
  const Json json{report.iterations,     report.timeline,          report.workspace_bytes,
                  report.resident_bytes, report.own_weights_bytes, report.setup_s,
                  report.frames};
  return pack_json(json);
}

DeviceReport unpack(std::span<const std::byte> bytes) {
  const Json json = unpack_json(bytes);
  return {json.at(0), json.at(1), json.at(2), json.at(3), json.at(4), json.at(5), json.at(6)};
}

}  // namespace thinwire::harness
