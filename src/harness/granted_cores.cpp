#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include "cgroup.hpp"
#include "thinwire/harness/environment.hpp"
#include "thinwire/ops/thread_binding.hpp"

namespace thinwire::harness {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

double affinity_cores() {
  const std::size_t allowed = ops::allowed_cores().size();
  return allowed > 0 ? static_cast<double>(allowed)
                     : static_cast<double>(::sysconf(_SC_NPROCESSORS_ONLN));
}

std::optional<double> number_in(const std::filesystem::path& file) {
  std::ifstream stream(file);
  double value = 0;
  if (stream >> value) return value;
  return std::nullopt;
}

/// cgroup v2: "max 100000" or "150000 100000" (quota and period in microseconds).
double limit_v2(const std::filesystem::path& group) {
  std::ifstream stream(group / "cpu.max");
  std::string quota;
  double period = 0;
  if (!(stream >> quota >> period) || quota == "max" || period <= 0) return kNoLimit;
  return std::stod(quota) / period;
}

double limit_v1(const std::filesystem::path& group) {
  const auto quota = number_in(group / "cpu.cfs_quota_us");
  const auto period = number_in(group / "cpu.cfs_period_us");
  return quota && period && *quota > 0 && *period > 0 ? *quota / *period : kNoLimit;
}

}  // namespace

double quota_cores() {
  return tightest_cgroup_limit("cpu", limit_v2, limit_v1);
}

double granted_cores() {
  return std::min(affinity_cores(), quota_cores());
}

}  // namespace thinwire::harness
