#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "devices.hpp"
#include "ring_values.hpp"
#include "schedule.hpp"
#include "support/mpi_session.hpp"
#include "terminal_schedule.hpp"
#include "thinwire/fabric/fabric.hpp"
#include "thinwire/fabric/ring_all_reduce.hpp"

namespace thinwire::fabric {
namespace {

using test::modelled_options;
using test::on_devices;
using test::play;
using test::several_links;

TEST(MpiFabric, ModelledTimesEqualTheLocalTransports) {
  const auto session = test::make_session();
  const int devices = session->size();
  const FabricOptions options = modelled_options(devices, several_links(devices));
  const auto fabric = make_fabric(session->world(), options);
  bool is_data_right = false;

  const DeviceIteration iteration = play({}, *fabric, is_data_right);

  EXPECT_TRUE(is_data_right);
  std::vector<DeviceIteration> local(static_cast<std::size_t>(devices));
  on_devices(devices, [&](Transport& transport) {
    bool is_local_right = false;
    local[static_cast<std::size_t>(transport.rank())] =
        play({}, *make_fabric(transport, options), is_local_right);
  });
  const DeviceIteration& expected = local[static_cast<std::size_t>(session->rank())];
  EXPECT_EQ(iteration.link_bits, expected.link_bits);
  EXPECT_EQ(iteration.traffic.wire_bytes, expected.traffic.wire_bytes);
  for (std::size_t link = 0; link < options.links.size(); ++link) {
    EXPECT_EQ(iteration.links[link].compute_s, expected.links[link].compute_s);
    EXPECT_EQ(iteration.links[link].wait_s, expected.links[link].wait_s);
    EXPECT_EQ(iteration.links[link].hidden_s, expected.links[link].hidden_s);
    EXPECT_EQ(iteration.links[link].skew_s, expected.links[link].skew_s);
  }
}

TEST(MpiFabric, CountsTheCallsOfAnIteration) {
  const auto session = test::make_session();
  const auto fabric = make_fabric(session->world(), {});
  bool is_data_right = false;
  play({}, *fabric, is_data_right);

  auto calls = play({}, *fabric, is_data_right).traffic.mpi_calls;

  const bool asks = session->hosts() > 1;  // on one host stamps go through its memory
  EXPECT_EQ(calls.contains("MPI_Allgather"), asks);
  if (session->size() == 1) return;                 // where some exchanges are empty on all devices
  EXPECT_EQ(calls["MPI_Allgatherv"], 3);
  EXPECT_EQ(calls["MPI_Gatherv"], 1);
}

TEST(MpiFabric, EmulatedTurnsNeverOverlap) {
  using Turn = std::pair<std::int64_t, std::int64_t>;  // start and end on the node's one clock
  const auto session = test::make_session();
  const auto fabric = make_fabric(session->world(), {});
  const auto now = [] { return std::chrono::steady_clock::now().time_since_epoch().count(); };
  std::vector<Turn> mine(30);
  fabric->begin_iteration();
  for (Turn& turn : mine)
    fabric->compute({"work", 0}, [&](Operations&) {
      turn.first = now();
      while (now() < turn.first + 100'000) {
      }
      turn.second = now();
    });
  fabric->end_iteration();

  std::vector<Turn> turns;
  for (const auto& bytes : gather_all(session->world(), std::as_bytes(std::span(mine)))) {
    std::vector<Turn> theirs(bytes.size() / sizeof(Turn));
    std::memcpy(static_cast<void*>(theirs.data()), bytes.data(), bytes.size());
    turns.insert(turns.end(), theirs.begin(), theirs.end());
  }
  if (session->hosts() != 1) GTEST_SKIP() << "turns belong to one node";
  std::ranges::sort(turns);
  EXPECT_EQ(turns.size(), mine.size() * static_cast<std::size_t>(session->size()));
  for (std::size_t i = 1; i < turns.size(); ++i) EXPECT_LE(turns[i - 1].second, turns[i].first);
}

TEST(MpiFabric, ThrottledDataIsRight) {
  const auto session = test::make_session();
  for (const Topology topology : {Topology::broadcast, Topology::unicast, Topology::shared}) {
    FabricOptions options;
    options.clock = Clock::throttled;
    options.links = {{{Rate::bits_per_second(1e9)}, Seconds(0), topology}};
    const auto fabric = make_fabric(session->world(), options);
    for (int i = 0; i < 3; ++i) {
      bool is_data_right = false;
      play({}, *fabric, is_data_right);
      EXPECT_TRUE(is_data_right) << to_string(topology);
    }
  }
}

TEST(MpiFabric, FewerDevicesThanRanksRunWhileTheOthersSleep) {
  const auto session = test::make_session();
  const int devices = std::max(1, session->size() - 1);
  const auto transport = session->first_ranks(devices);
  if (transport) {
    bool is_data_right = false;
    const auto fabric = make_fabric(*transport, {});
    play({}, *fabric, is_data_right);
    EXPECT_TRUE(is_data_right);
  }
  session->world().meet();
}

TEST(MpiFabric, ATerminalsTimesEqualTheFormula) {
  const auto session = test::make_session();
  const int devices = session->size() - 1;
  if (devices == 0) GTEST_SKIP() << "needs a rank for the terminal";
  const auto part = session->first_ranks(devices);
  const FabricOptions options = modelled_options(devices, several_links(devices));
  const auto fabric = make_fabric_with_terminal(session->world(), part.get(), options);
  bool is_data_right = false;
  test::play_with_terminal(*fabric, is_data_right);

  auto iteration = test::play_with_terminal(*fabric, is_data_right);

  EXPECT_TRUE(is_data_right);
  test::expect_replayed(iteration, session->rank(), devices, options);
  auto& calls = iteration.traffic.mpi_calls;  // over both transports
  EXPECT_EQ(calls["MPI_Gatherv"], test::kSequences);
  if (devices == 1) return;  // input_bytes(0) is 0
  EXPECT_EQ(calls["MPI_Scatterv"], test::kSequences);
  EXPECT_EQ(calls["MPI_Sendrecv"], fabric->is_terminal() ? 0 : test::kSequences);
}

TEST(MpiFabric, ThrottledAndEmulatedTerminalsMoveTheSameData) {
  const auto session = test::make_session();
  const int devices = session->size() - 1;
  if (devices == 0) GTEST_SKIP() << "needs a rank for the terminal";
  const auto part = session->first_ranks(devices);
  for (const Clock clock : {Clock::emulated, Clock::throttled}) {
    FabricOptions options;
    options.clock = clock;
    options.links = {{{Rate::bits_per_second(1e9)}, Seconds(0), Topology::unicast}};
    const auto fabric = make_fabric_with_terminal(session->world(), part.get(), options);
    bool is_data_right = false;
    test::play_with_terminal(*fabric, is_data_right);
    EXPECT_TRUE(is_data_right) << to_string(clock);
  }
}

TEST(MpiFabric, RingAllReduceSumsUnevenChunksBitwiseTheSame) {
  constexpr Index kValues = 101;
  const auto session = test::make_session();
  Transport& world = session->world();
  const int devices = world.size(), me = world.rank();
  const auto fabric = make_fabric(world, {});
  RingAllReduce all_reduce(devices, kValues, std::pmr::new_delete_resource());
  std::vector<float> mine = test::ring_values(me, kValues);
  fabric->begin_iteration();
  all_reduce(mine, {"sum", 0}, *fabric);
  const DeviceIteration iteration = fabric->end_iteration();

  for (Index i = 0; i < kValues; ++i) {
    double sum = 0;
    for (int p = 0; p < devices; ++p)
      sum += double{test::ring_values(p, kValues)[static_cast<std::size_t>(i)]};
    EXPECT_NEAR(mine[static_cast<std::size_t>(i)], sum, 1e-5);
  }
  const auto results = gather_all(world, std::as_bytes(std::span(mine)));
  for (const auto& result : results) EXPECT_EQ(result, results.front());
  EXPECT_EQ(iteration.traffic.wire_bytes, test::ring_bytes(me, devices, kValues));
  if (devices == 1) return;
  EXPECT_EQ(iteration.traffic.mpi_calls.at("MPI_Sendrecv"), 2 * (devices - 1));
}

}  // namespace
}  // namespace thinwire::fabric
