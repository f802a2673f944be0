#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <thread>

#include "devices.hpp"
#include "schedule.hpp"
#include "terminal_schedule.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/fabric/fabric.hpp"

namespace thinwire::fabric {
namespace {

using test::filled;
using test::on_devices;
using test::play;

FabricOptions native() {
  FabricOptions options;
  options.clock = Clock::native;
  return options;
}

TEST(NativeClock, MovesTheSameDataAsTheOthers) {
  for (const int devices : {1, 2, 3, 6}) {
    SCOPED_TRACE(devices);
    on_devices(devices, [&](Transport& transport) {
      const auto fabric = make_fabric(transport, native());
      bool is_data_right = false;
      for (int iteration = 0; iteration < 2; ++iteration) {
        play({}, *fabric, is_data_right);
        EXPECT_TRUE(is_data_right);
      }
    });
  }
}

TEST(NativeClock, AStatedRateThrottlesNothing) {
  on_devices(2, [](Transport& transport) {
    FabricOptions options = native();
    options.links.front().rates = {Rate::bits_per_second(1)};  // 22 hours for 10 kB
    const auto fabric = make_fabric(transport, options);
    const auto mine = filled(10'000, 1);
    std::vector<std::byte> all(20'000);
    fabric->begin_iteration();
    fabric->wait(fabric->all_gather({mine}, all));

    const DeviceIteration iteration = fabric->end_iteration();

    const LinkTimes& times = iteration.links.front();
    EXPECT_NEAR(times.compute_s + times.wait_s, iteration.wall_s, 1e-12);
    EXPECT_EQ(iteration.link_bits.front(), 2 * 8 * 10'000);
  });
}

/// One device alone, which notes who moves its bytes.
class NotingTransport final : public Transport {
 public:
  std::vector<std::thread::id> callers;

  int rank() const override { return solo_->rank(); }
  int size() const override { return solo_->size(); }
  void meet() override {}
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    solo_->all_gather(mine, all);
  }
  void all_gatherv(std::span<const std::byte> mine, std::span<const std::int64_t> sizes,
                   std::span<std::byte> all) override {
    callers.push_back(std::this_thread::get_id());
    solo_->all_gatherv(mine, sizes, all);
  }
  void gatherv(int, std::span<const std::byte>, std::span<const std::int64_t>,
               std::span<std::byte>) override {}
  void scatterv(int, std::span<const std::byte>, std::span<const std::int64_t>,
                std::span<std::byte>) override {}
  void send_receive(std::span<const std::byte>, int, std::span<std::byte>, int) override {}
  Turn& turn() override { return solo_->turn(); }

 private:
  std::unique_ptr<Transport> solo_ = make_solo_transport();
};

TEST(NativeClock, CarriesWhatIsWaitedForAtOnceAndHandsOverTheRest) {
  NotingTransport transport;
  const auto fabric = make_fabric(transport, native());
  const auto mine = filled(3, 1);
  std::array<std::vector<std::byte>, 3> arrived;
  arrived.fill(std::vector<std::byte>(3));
  const auto main = std::this_thread::get_id();

  fabric->begin_iteration();
  fabric->wait(fabric->all_gather({mine}, arrived[0]));
  Pending covered = fabric->all_gather({mine}, arrived[1]);
  fabric->compute({"work", 0}, [](Operations&) {});
  Pending late = fabric->all_gather({mine}, arrived[2]);  // while the other one may be under way
  fabric->wait(std::move(covered));
  fabric->wait(std::move(late));
  fabric->end_iteration();

  ASSERT_EQ(transport.callers.size(), 3);
  EXPECT_EQ(transport.callers[0], main);
  EXPECT_NE(transport.callers[1], main);
  EXPECT_EQ(transport.callers[2], main);
  for (const auto& bytes : arrived) EXPECT_EQ(bytes, mine);
}

TEST(NativeClock, WaitingForALateDeviceIsSkew) {
  on_devices(2, [](Transport& transport) {
    const auto fabric = make_fabric(transport, native());
    const auto mine = filled(100, 1);
    std::vector<std::byte> all(200);
    fabric->begin_iteration();
    if (transport.rank() == 1)
      fabric->compute({"work", 0}, [](Operations&) {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
      });
    fabric->wait(fabric->all_gather({mine}, all));

    const LinkTimes times = fabric->end_iteration().links.front();

    if (transport.rank() == 0) {
      EXPECT_GE(times.skew_s, 0.04);
      EXPECT_LE(times.skew_s, times.wait_s);
    } else {
      EXPECT_GE(times.compute_s, 0.2);
    }
  });
}

}  // namespace
}  // namespace thinwire::fabric
