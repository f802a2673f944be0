#pragma once
#include <filesystem>
#include <functional>
#include <string>

namespace thinwire::harness {

/// What a control group's folder allows; +infinity without a limit.
using CgroupLimit = std::function<double(const std::filesystem::path&)>;

/// The tightest limit on this process's use of `controller` ("cpu", "memory"), +infinity without
/// one: a parent's limit binds its children. Reads the folders of cgroup v2 and of v1.
double tightest_cgroup_limit(const std::string& controller, const CgroupLimit& limit_v2,
                             const CgroupLimit& limit_v1);

}  // namespace thinwire::harness
