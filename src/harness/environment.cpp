#include "thinwire/harness/environment.hpp"

#include <fmt/format.h>
#include <hwloc.h>
#include <spdlog/version.h>
#include <sys/utsname.h>
#include <boost/version.hpp>

#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>

#include "git_revision.hpp"
#include "thinwire/base/compiler.hpp"
#include "thinwire/base/json.hpp"
#include "thinwire/fabric/node_memory.hpp"
#include "thinwire/ops/runtime.hpp"

namespace thinwire::harness {
namespace {

/// The text behind "<key> :" in a file of such lines, or "" if there is none.
std::string value_in(const char* file, std::string_view key) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

Json or_null(std::string text) {
  return text.empty() ? Json(nullptr) : Json(std::move(text));
}

std::int64_t kibibytes(const std::string& text) {
  std::int64_t count = 0;
  std::istringstream(text) >> count;
  return count * 1024;
}

/// Cores and hardware threads of the whole machine, forbidden ones included.
Json machine_cores() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) return nullptr;
  const std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)> owner(
      topology, hwloc_topology_destroy);
  hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  if (hwloc_topology_load(topology) != 0) return nullptr;
  return {{"cores", hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE)},
          {"hardware_threads", hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU)},
          {"sockets", hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE)}};
}

std::string dotted(int major, int minor, int patch) {
  return fmt::format("{}.{}.{}", major, minor, patch);
}

Json libraries(const Launch& launch) {
  return {
      {"onednn", ops::onednn_version()},
      {"mpi", or_null(launch.mpi)},
      {"openmp", _OPENMP},
      {"fmt", dotted(FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
      {"spdlog", dotted(SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH)},
      {"nlohmann_json", dotted(NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                               NLOHMANN_JSON_VERSION_PATCH)},
      {"boost", dotted(BOOST_VERSION / 100000, BOOST_VERSION / 100 % 1000, BOOST_VERSION % 100)},
      {"hwloc",
       dotted(HWLOC_API_VERSION >> 16, HWLOC_API_VERSION >> 8 & 0xff, HWLOC_API_VERSION & 0xff)}};
}

/// "Linux 6.1.0"; the node name that uname also tells is left out.
std::string system_name() {
  utsname names{};
  if (::uname(&names) != 0) return "";
  return fmt::format("{} {}", names.sysname, names.release);
}

}  // namespace

Json environment(const Launch& launch) {
  static const Json machine = machine_cores();  // takes milliseconds, and a sweep asks every point
  return {{"cpu", or_null(value_in("/proc/cpuinfo", "model name"))},
          {"granted_cores", granted_cores()},
          {"machine", machine},
          {"memory_bytes", kibibytes(value_in("/proc/meminfo", "MemTotal"))},
          {"system", or_null(system_name())},
          {"compiler", compiler()},
          {"build_type", THINWIRE_BUILD_TYPE},
          {"libraries", libraries(launch)},
          {"thinwire", THINWIRE_VERSION},
          {"git_revision", git_revision()},
          {"hosts", launch.hosts}};
}

std::int64_t resident_private_bytes() {
  // Node memory is shared by design, though pages that one rank alone has touched so far show up
  // as private to it.
  const std::string node_memory = fmt::format("/memfd:{}", fabric::kNodeMemoryName);
  std::ifstream maps("/proc/self/smaps");
  std::int64_t kilobytes = 0;
  bool is_node_memory = false;
  for (std::string line; std::getline(maps, line);) {
    std::int64_t value = 0;
    if (std::sscanf(line.c_str(), "Private_Dirty: %ld kB", &value) == 1)
      kilobytes += is_node_memory ? 0 : value;
    else if (std::isxdigit(static_cast<unsigned char>(line.front())) != 0 &&
             line.find('-') < line.find(' '))
      is_node_memory = line.find(node_memory) != std::string::npos;
  }
  return kilobytes * 1024;
}

std::string git_revision() {
  return THINWIRE_GIT_REVISION;
}

}  // namespace thinwire::harness
