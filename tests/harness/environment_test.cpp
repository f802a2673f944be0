#include "thinwire/harness/environment.hpp"
#include "thinwire/base/json.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace thinwire::harness {
namespace {

Json example() {
  return environment({.mpi = "Open MPI 4.1.4", .hosts = 2});
}

TEST(Environment, NamesHardwareAndSoftware) {
  const Json json = example();

  EXPECT_FALSE(json["cpu"].is_null());
  EXPECT_GT(json["granted_cores"].get<double>(), 0);
  EXPECT_GE(json["machine"]["hardware_threads"].get<int>(), 1);
  EXPECT_GT(json["memory_bytes"].get<std::int64_t>(), 0);
  EXPECT_FALSE(json["compiler"].get<std::string>().empty());
  EXPECT_EQ(json["libraries"]["mpi"], "Open MPI 4.1.4");
  EXPECT_GE(json["libraries"]["openmp"].get<int>(), 201307);
  EXPECT_FALSE(json["libraries"]["onednn"].get<std::string>().empty());
  EXPECT_FALSE(json["git_revision"].get<std::string>().empty());
  EXPECT_EQ(json["hosts"], 2);
}

TEST(Environment, HasNoPathsAndNoNames) {
  const std::string text = example().dump();
  std::string host(256, '\0');
  ASSERT_EQ(::gethostname(host.data(), host.size() - 1), 0);
  host.resize(host.find('\0'));

  EXPECT_EQ(text.find(THINWIRE_SOURCE_DIR), std::string::npos);
  EXPECT_EQ(text.find("/home"), std::string::npos);
  EXPECT_EQ(text.find('"' + host + '"'), std::string::npos) << host;
}

TEST(GrantedCores, FollowTheAffinity) {
  double restricted = 0;
  std::thread([&] {
    cpu_set_t before;
    CPU_ZERO(&before);
    ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
    int core = 0;
    while (!CPU_ISSET(core, &before)) ++core;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);

    restricted = granted_cores();
  }).join();

  EXPECT_LE(restricted, 1);
  EXPECT_GT(restricted, 0);
}

TEST(ResidentPrivateBytes, GrowWithMemoryThatIsUsed) {
  const std::int64_t before = resident_private_bytes();
  if (before == 0) GTEST_SKIP() << "this kernel has no /proc/self/smaps_rollup";

  const std::vector<char> used(64 << 20, 1);

  EXPECT_GT(resident_private_bytes() - before, 60 << 20);
  EXPECT_EQ(used.back(), 1);
}

}  // namespace
}  // namespace thinwire::harness
