#include "thinwire/fabric/local_devices.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>

#include "thinwire/base/error.hpp"

namespace thinwire::fabric {
namespace {

TEST(LocalDevices, HaveATransportEach) {
  std::atomic<int> ranks = 0;

  on_local_devices(3, [&](Transport& transport) {
    transport.meet();
    ranks += transport.size() == 3 ? 1 + 10 * transport.rank() : 0;
  });

  EXPECT_EQ(ranks, 3 + 10 * (0 + 1 + 2));
}

TEST(LocalDevices, BelongToTheGroupsThatReachThem) {
  const std::array<int, 2> groups = {3, 2};
  std::array<std::atomic<int>, 3> memberships{};

  on_local_devices(groups, [&](std::span<Transport* const> own) {
    const auto device = static_cast<std::size_t>(own.front()->rank());
    for (Transport* const transport : own) {
      if (transport == nullptr) continue;
      transport->meet();
      ++memberships.at(device);
    }
  });

  EXPECT_EQ(memberships[0], 2);
  EXPECT_EQ(memberships[1], 2);
  EXPECT_EQ(memberships[2], 1);
}

TEST(LocalDevices, TellWhatTheFirstThatFailedSaid) {
  const std::array<int, 2> groups = {3, 2};
  std::string message;
  try {
    on_local_devices(groups, [](std::span<Transport* const> own) {
      if (own.front()->rank() == 1) throw InputError("device 1 has no input");
      (own.back() != nullptr ? own.back() : own.front())->meet();  // would wait for ever
    });
  } catch (const InputError& error) {
    message = error.what();
  }
  EXPECT_EQ(message, "device 1 has no input");
}

}  // namespace
}  // namespace thinwire::fabric
