#include "thinwire/fabric/timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "thinwire/base/json.hpp"

namespace thinwire::fabric {
namespace {

constexpr double kMicroseconds = 1e6;  // the format's unit, a second

/// Threads 2p and 2p + 1: what device p does, what it sends.
int thread_of(const TimelineEvent& event) {
  return 2 * event.device + (event.kind == TimelineEvent::Kind::transfer ? 1 : 0);
}

std::string_view category(TimelineEvent::Kind kind) {
  switch (kind) {
    case TimelineEvent::Kind::compute:
      return "compute";
    case TimelineEvent::Kind::wait:
      return "wait";
    case TimelineEvent::Kind::transfer:
      return "transfer";
  }
  return "";
}

Json metadata(std::string_view what, int process, int thread, const std::string& name) {
  return {
      {"name", what}, {"ph", "M"}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}};
}

/// The terminal's events come from node `devices`.
bool has_terminal(std::span<const TimelineEvent> events, int devices) {
  return std::ranges::find(events, devices, &TimelineEvent::device) != events.end();
}

Json to_trace(const TimelineEvent& event) {
  return {{"name", event.name},
          {"cat", category(event.kind)},
          {"ph", "X"},
          {"pid", event.link},
          {"tid", thread_of(event)},
          {"ts", event.start_s * kMicroseconds},
          {"dur", event.duration_s * kMicroseconds},
          {"args", {{"layer", event.layer}}}};
}

}  // namespace

Json chrome_trace(std::span<const TimelineEvent> events, std::span<const std::string> link_names,
                  int devices) {
  const int nodes = devices + (has_terminal(events, devices) ? 1 : 0);
  Json list = Json::array();
  for (int link = 0; link < static_cast<int>(link_names.size()); ++link) {
    list.push_back(metadata("process_name", link, 0, link_names[static_cast<std::size_t>(link)]));
    for (int node = 0; node < nodes; ++node) {
      const std::string name = node == devices ? "terminal" : fmt::format("device {}", node);
      list.push_back(metadata("thread_name", link, 2 * node, name));
      list.push_back(metadata("thread_name", link, 2 * node + 1, name + " sends"));
    }
  }
  for (const TimelineEvent& event : events) list.push_back(to_trace(event));
  return {{"displayTimeUnit", "ms"}, {"traceEvents", std::move(list)}};
}

}  // namespace thinwire::fabric
