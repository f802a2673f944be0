#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "cgroup.hpp"
#include "thinwire/harness/environment.hpp"

namespace thinwire::harness {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

/// The number behind `key` in a file of lines "key number", 0 without one.
double number_behind(const std::filesystem::path& file, const std::string& key) {
  std::ifstream stream(file);
  std::string name, rest;
  double value = 0;
  while (stream >> name >> value && std::getline(stream, rest))
    if (name == key) return value;
  return 0;
}

/// +infinity for a file that is not there or says "max".
double limit_in(const std::filesystem::path& file) {
  std::ifstream stream(file);
  double value = 0;
  return stream >> value ? value : kNoLimit;
}

/// What a group may still take. File pages that nobody uses are given back when it asks for more.
double rest_of(double limit, const std::filesystem::path& usage, const std::filesystem::path& stat,
               const std::string& unused_pages) {
  double used = 0;
  std::ifstream(usage) >> used;
  return std::max(0.0, limit - std::max(0.0, used - number_behind(stat, unused_pages)));
}

double rest_v2(const std::filesystem::path& group) {
  return rest_of(limit_in(group / "memory.max"), group / "memory.current", group / "memory.stat",
                 "inactive_file");
}

double rest_v1(const std::filesystem::path& group) {
  return rest_of(limit_in(group / "memory.limit_in_bytes"), group / "memory.usage_in_bytes",
                 group / "memory.stat", "total_inactive_file");
}

}  // namespace

std::int64_t available_memory_bytes() {
  const double of_machine = 1024 * number_behind("/proc/meminfo", "MemAvailable:");
  return static_cast<std::int64_t>(
      std::min(of_machine, tightest_cgroup_limit("memory", rest_v2, rest_v1)));
}

}  // namespace thinwire::harness
