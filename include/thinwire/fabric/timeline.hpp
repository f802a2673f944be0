#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "thinwire/base/json_fwd.hpp"
#include "thinwire/fabric/link_model.hpp"

namespace thinwire::fabric {

/// One bar of a device's timeline under one link setting.
struct TimelineEvent {
  enum class Kind { compute, wait, transfer };
  Kind kind = Kind::compute;
  std::string name;  ///< "attention", "wait", "to device 2"
  int layer = 0;
  int link = 0;    ///< index into the record's links
  int device = 0;  ///< the terminal's is P
  double start_s = 0, duration_s = 0;
};

/// Chrome trace format (opens in Perfetto): a process a link setting, named after it, and two
/// threads a device, one that computes and waits, one that sends. Events of device `devices` are
/// the terminal's.
Json chrome_trace(std::span<const TimelineEvent> events, std::span<const std::string> link_names,
                  int devices);

}  // namespace thinwire::fabric
