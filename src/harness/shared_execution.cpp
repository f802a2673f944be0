#include "thinwire/harness/shared_execution.hpp"

#include <algorithm>
#include <array>

#include "thinwire/base/json.hpp"
#include "thinwire/base/text.hpp"

namespace thinwire::harness {
namespace {

constexpr std::array<std::string_view, 5> kLinkFields = {"rate", "rate-trace", "latency",
                                                         "topology", "overhead"};

template <class T>
std::vector<T> chosen(const std::vector<T>& all, std::span<const std::size_t> which) {
  std::vector<T> some;
  for (const std::size_t index : which) some.push_back(all.at(index));
  return some;
}

}  // namespace

std::string execution_key(const Point& point) {
  const RunSpec& spec = point.spec;
  const bool is_alone = fabric::is_wall_clock(spec.clock) || spec.depends_on_link() ||
                        !spec.data.empty() || !spec.trace.empty() || !point.skip_reason.empty();
  if (is_alone) return "";
  Json key{{"rows", spec.rows}};  // of partition=auto
  // What is lost is data: packets of another size are others.
  if (const fabric::Link& link = spec.links().front(); link.loss.drops())
    key["packet_bytes"] = link.packet_bytes();
  for (const Field& field : run_fields())
    if (std::ranges::find(kLinkFields, field.name) == kLinkFields.end())
      key[std::string(field.name)] = field.to_json(spec);
  // Paths may be no UTF-8.
  return to_hex(fnv1a(key.dump(-1, ' ', false, Json::error_handler_t::replace)));
}

SharedLinks shared_links(std::span<const Point> points) {
  SharedLinks shared;
  for (const Point& point : points) {
    std::vector<std::size_t>& mine = shared.of_point.emplace_back();
    for (const fabric::Link& link : point.spec.links()) {
      const auto known = std::ranges::find(shared.links, link);
      mine.push_back(static_cast<std::size_t>(known - shared.links.begin()));
      if (known == shared.links.end()) shared.links.push_back(link);
    }
  }
  return shared;
}

Result result_under(const Result& all, const RunSpec& spec, std::span<const std::size_t> links) {
  Result result = all;
  result.spec = spec;
  result.times = chosen(all.times, links);
  result.link_bits = chosen(all.link_bits, links);
  if (!all.repeated_packets.empty()) result.repeated_packets = chosen(all.repeated_packets, links);
  return result;
}

}  // namespace thinwire::harness
