#include "cgroup.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <vector>

#include "thinwire/base/text.hpp"

namespace thinwire::harness {
namespace {

/// From `root`/`group` up to `root`.
double tightest(const std::filesystem::path& root, const std::string& group,
                const CgroupLimit& limit) {
  double value = limit(root);
  std::filesystem::path place = root;
  for (const std::string& part : split(group, '/')) {
    if (part.empty() || part == "..") continue;
    place /= part;
    value = std::min(value, limit(place));
  }
  return value;
}

}  // namespace

/// Lines of /proc/self/cgroup: "0::/path" (v2) or "4:cpu,cpuacct:/path" (v1).
double tightest_cgroup_limit(const std::string& controller, const CgroupLimit& limit_v2,
                             const CgroupLimit& limit_v1) {
  std::ifstream stream("/proc/self/cgroup");
  double value = std::numeric_limits<double>::infinity();
  for (std::string line; std::getline(stream, line);) {
    const std::vector<std::string> fields = split(line, ':');
    if (fields.size() < 3) continue;
    if (fields[1].empty()) {
      value = std::min(value, tightest("/sys/fs/cgroup", fields[2], limit_v2));
      continue;
    }
    const std::vector<std::string> controllers = split(fields[1], ',');
    if (std::ranges::find(controllers, controller) != controllers.end())
      value = std::min(value, tightest("/sys/fs/cgroup/" + controller, fields[2], limit_v1));
  }
  return value;
}

}  // namespace thinwire::harness
