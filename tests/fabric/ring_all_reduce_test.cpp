#include "thinwire/fabric/ring_all_reduce.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>

#include "devices.hpp"
#include "ring_values.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/tensor/tracking_resource.hpp"

namespace thinwire::fabric {
namespace {

using test::on_devices;
using test::ring_bytes;
using test::ring_values;

FabricOptions modelled(int devices) {
  FabricOptions options;
  options.clock = Clock::modelled;
  options.device_flops_per_s.assign(static_cast<std::size_t>(devices), 1e9);
  return options;
}

/// What every device holds after the sum over `devices` devices: [device].
std::vector<std::vector<float>> reduced(int devices, Index values) {
  std::vector<std::vector<float>> results(static_cast<std::size_t>(devices));
  on_devices(devices, [&](Transport& transport) {
    const auto fabric = make_fabric(transport, modelled(devices));
    std::vector<float> mine = ring_values(transport.rank(), values);
    RingAllReduce all_reduce(devices, values, std::pmr::new_delete_resource());
    fabric->begin_iteration();
    all_reduce(mine, {"sum", 0}, *fabric);
    fabric->end_iteration();
    results[static_cast<std::size_t>(transport.rank())] = mine;
  });
  return results;
}

class RingAllReduceTest : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Devices, RingAllReduceTest, testing::Values(1, 2, 3, 4, 6));

TEST_P(RingAllReduceTest, EqualsAPlainSumBitwiseTheSameEverywhere) {
  const int devices = GetParam();
  for (const Index values : {6, 7, 23, 64, 101}) {
    SCOPED_TRACE(values);
    const auto results = reduced(devices, values);

    for (Index i = 0; i < values; ++i) {
      double sum = 0;
      for (int p = 0; p < devices; ++p)
        sum += double{ring_values(p, values)[static_cast<std::size_t>(i)]};
      EXPECT_NEAR(results.front()[static_cast<std::size_t>(i)], sum, 1e-5);
    }
    for (const auto& result : results) EXPECT_EQ(result, results.front());
  }
}

TEST_P(RingAllReduceTest, SendsTheRingsBytes) {
  const int devices = GetParam();
  constexpr Index kValues = 23;
  on_devices(devices, [&](Transport& transport) {
    const auto fabric = make_fabric(transport, modelled(devices));
    std::vector<float> mine = ring_values(transport.rank(), kValues);
    RingAllReduce all_reduce(devices, kValues, std::pmr::new_delete_resource());
    fabric->begin_iteration();
    all_reduce(mine, {"sum", 0}, *fabric);

    const DeviceIteration iteration = fabric->end_iteration();

    EXPECT_EQ(iteration.traffic.wire_bytes, ring_bytes(transport.rank(), devices, kValues));
    EXPECT_EQ(iteration.traffic.exchanges, 2 * (devices - 1));
    EXPECT_EQ(iteration.link_bits.front(), 2 * (devices - 1) * kValues * 32);
    EXPECT_EQ(iteration.operations, Operations{});
  });
}

TEST(RingAllReduce, EveryStepPaysItsBitsAndTheLatency) {
  constexpr int kDevices = 4;
  constexpr Index kValues = 8;  // chunks of 8 bytes
  on_devices(kDevices, [&](Transport& transport) {
    FabricOptions options = modelled(kDevices);
    options.links = {{{Rate::bits_per_second(64)}, Seconds(0.25), Topology::unicast}};
    const auto fabric = make_fabric(transport, options);
    std::vector<float> mine = ring_values(transport.rank(), kValues);
    RingAllReduce all_reduce(kDevices, kValues, std::pmr::new_delete_resource());
    fabric->begin_iteration();
    all_reduce(mine, {"sum", 0}, *fabric);

    EXPECT_EQ(fabric->end_iteration().links.front().wait_s, 6 * 1.25);
  });
}

TEST(RingAllReduce, HoldsOneChunkAndAllocatesOnlyThat) {
  on_devices(3, [](Transport& transport) {
    const auto fabric = make_fabric(transport, modelled(3));
    TrackingResource memory;
    RingAllReduce all_reduce(3, 100, &memory);
    EXPECT_EQ(memory.held_bytes(), 34 * 4);
    for (const Index values : {100, 7, 100}) {  // fewer than announced is fine
      std::vector<float> mine = ring_values(transport.rank(), values);
      fabric->begin_iteration();
      all_reduce(mine, {"sum", 0}, *fabric);
      fabric->end_iteration();
    }
    EXPECT_EQ(memory.allocations(), 1);
  });
}

TEST(RingAllReduce, RefusesWhatItWasNotMadeFor) {
  const auto transport = make_solo_transport();
  const auto fabric = make_fabric(*transport, modelled(1));
  std::vector<float> values(3);
  RingAllReduce small(1, 2, std::pmr::new_delete_resource());
  RingAllReduce of_two(2, 3, std::pmr::new_delete_resource());

  EXPECT_THROW(small(values, {}, *fabric), Error);
  EXPECT_THROW(of_two(values, {}, *fabric), Error);
}

}  // namespace
}  // namespace thinwire::fabric
