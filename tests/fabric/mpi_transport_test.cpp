#include "fabric/mpi_transport.hpp"

#include <gtest/gtest.h>

#include <climits>
#include <numeric>
#include <thread>

#include "devices.hpp"
#include "support/mpi_session.hpp"
#include "thinwire/base/error.hpp"
#include "thinwire/fabric/fabric.hpp"

namespace thinwire::fabric {
namespace {

using test::filled;
using test::is_filled;

Communicator world() {
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  return Communicator(copy);
}

/// 0, 1, 2, ... bytes; their sum.
std::vector<std::int64_t> rising_sizes(int ranks) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(ranks));
  std::iota(sizes.begin(), sizes.end(), 0);
  return sizes;
}

bool is_rising(std::span<const std::byte> all, int ranks) {
  for (int p = 0; p < ranks; ++p) {
    const auto size = static_cast<std::size_t>(p);
    if (!is_filled(all.first(size), p, p)) return false;
    all = all.subspan(size);
  }
  return all.empty();
}

TEST(MpiTransport, GathersUnequalSlicesInRankOrder) {
  const auto session = test::make_session();
  Transport& transport = session->world();
  const int ranks = transport.size();
  std::vector<std::byte> all(static_cast<std::size_t>(ranks * (ranks - 1) / 2));

  transport.meet();
  transport.all_gatherv(filled(transport.rank(), transport.rank()), rising_sizes(ranks), all);

  EXPECT_TRUE(is_rising(all, ranks));
}

TEST(MpiTransport, GathersTowardsEveryRoot) {
  const auto session = test::make_session();
  Transport& transport = session->world();
  const int ranks = transport.size();
  for (int root = 0; root < ranks; ++root) {
    std::vector<std::byte> all;
    if (transport.rank() == root) all.resize(static_cast<std::size_t>(ranks * (ranks - 1) / 2));

    transport.meet();
    transport.gatherv(root, filled(transport.rank(), transport.rank()), rising_sizes(ranks), all);

    EXPECT_TRUE(transport.rank() != root || is_rising(all, ranks)) << "root " << root;
  }
}

TEST(MpiTransport, ScattersFromEveryRoot) {
  const auto session = test::make_session();
  Transport& transport = session->world();
  const int ranks = transport.size(), me = transport.rank();
  for (int root = 0; root < ranks; ++root) {
    std::vector<std::byte> all;
    for (int p = 0; p < ranks && me == root; ++p)
      all.insert(all.end(), static_cast<std::size_t>(p), static_cast<std::byte>(p));
    std::vector<std::byte> mine(static_cast<std::size_t>(me));

    transport.meet();
    transport.scatterv(root, all, rising_sizes(ranks), mine);

    EXPECT_TRUE(is_filled(mine, me, me)) << "root " << root;
  }
  EXPECT_EQ(transport.mpi_calls().at("MPI_Scatterv"), ranks);
}

TEST(MpiTransport, SendsRoundTheRingAndDownALine) {
  const auto session = test::make_session();
  Transport& transport = session->world();
  const int ranks = transport.size(), me = transport.rank();
  if (ranks == 1) GTEST_SKIP() << "needs two ranks";
  const int next = (me + 1) % ranks, previous = (me + ranks - 1) % ranks;
  std::vector<std::byte> theirs(static_cast<std::size_t>(100 + previous));
  const bool is_last = me == ranks - 1, is_first = me == 0;
  std::vector<std::byte> upstream(is_first ? 0 : 3);

  transport.meet();
  transport.send_receive(filled(100 + me, me), next, theirs, previous);
  transport.send_receive(filled(is_last ? 0 : 3, me), is_last ? -1 : next, upstream,
                         is_first ? -1 : previous);

  EXPECT_TRUE(is_filled(theirs, 100 + previous, previous));
  EXPECT_TRUE(is_first || is_filled(upstream, 3, previous));
  EXPECT_EQ(transport.mpi_calls().at("MPI_Sendrecv"), 2);
}

TEST(MpiTransport, RefusesFewerBytesThanAreExpected) {
  const auto session = test::make_session();
  Transport& transport = session->world();
  if (transport.size() != 2) GTEST_SKIP() << "needs two ranks";
  const int peer = 1 - transport.rank();
  std::vector<std::byte> theirs(3);

  transport.meet();
  EXPECT_THROW(transport.send_receive(filled(2, 1), peer, theirs, peer), Error);
}

TEST(MpiTransport, CountsItsCalls) {
  const auto session = test::make_session();
  Transport& transport = session->world();
  const auto before = transport.mpi_calls();
  std::vector<std::byte> all(static_cast<std::size_t>(transport.size()));

  transport.meet();
  transport.all_gather(filled(1, 1), all);
  transport.all_gather(filled(1, 1), all);

  EXPECT_TRUE(before.empty());
  const auto after = transport.mpi_calls();
  EXPECT_EQ(after.at("MPI_Allgather"), 2);
  EXPECT_EQ(after.contains("MPI_Allgatherv"), false);
}

TEST(MpiTransport, RefusesSumsBeyondMpisCounts) {
  const auto session = test::make_session();
  Transport& transport = session->world();
  if (transport.size() == 1) GTEST_SKIP() << "needs two contributions";
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(transport.size()), INT_MAX);
  sizes[static_cast<std::size_t>(transport.rank())] = 0;
  if (transport.size() == 2) sizes[static_cast<std::size_t>(1 - transport.rank())] += 1LL;

  EXPECT_THROW(transport.all_gatherv({}, sizes, {}), Error);  // thrown by all, before MPI is called
  EXPECT_THROW(transport.scatterv(0, {}, sizes, {}), Error);
}

TEST(MpiTransport, AnAbandonedMeetingEnds) {
  const auto session = test::make_session();
  if (session->size() == 1) GTEST_SKIP() << "alone, nobody waits";
  const Communicator all = world();
  NodeSegment lock_memory(all, sizeof(NodeLock));
  NodeTurn turn(*reinterpret_cast<NodeLock*>(lock_memory.data()));
  MpiTransport transport(world(), world(), turn);
  if (all.rank() == 0) {
    std::thread leaving([&] { transport.abandon(); });
    EXPECT_THROW(transport.meet(), Error);  // the others do not come
    leaving.join();
  }
  session->world().meet();
}

/// A transport on which even and odd ranks play two hosts.
struct TwoHosts {
  explicit TwoHosts(const Communicator& all)
      : lock_memory(all, sizeof(NodeLock)), transport(world(), all.split(all.rank() % 2), turn) {}

  std::unique_ptr<MpiSession> session = test::make_session();
  NodeSegment lock_memory;
  NodeTurn turn{*reinterpret_cast<NodeLock*>(lock_memory.data())};
  MpiTransport transport;
};

TEST(MpiTransport, MeetsAcrossHosts) {
  const Communicator all = world();
  if (all.size() < 2) GTEST_SKIP() << "needs two ranks to play two hosts";
  TwoHosts hosts(all);
  MpiTransport& transport = hosts.transport;
  // In memory of the true node: how many have come so far.
  NodeSegment memory(all, sizeof(std::atomic<int>));
  auto& arrivals = *reinterpret_cast<std::atomic<int>*>(memory.data());

  EXPECT_EQ(transport.hosts(), 2);
  for (int meeting = 1; meeting <= 100; ++meeting) {
    ++arrivals;
    transport.meet();
    EXPECT_GE(arrivals, meeting * all.size());
    transport.meet();
  }
}

TEST(MpiTransport, LooksForTheEndOfCollectivesBetweenHosts) {
  const Communicator all = world();
  if (all.size() < 2) GTEST_SKIP() << "needs two ranks to play two hosts";
  TwoHosts hosts(all);
  MpiTransport& transport = hosts.transport;
  const int me = all.rank(), ranks = all.size();
  const std::vector<std::int64_t> sizes(static_cast<std::size_t>(ranks), 1);
  std::atomic<bool> may_nap = true;
  EXPECT_EQ(transport.host(), me % 2);
  transport.set_naps(&may_nap);

  for (const bool naps : {true, false}) {
    may_nap = naps;
    const std::vector<std::byte> mine{static_cast<std::byte>(me)};
    std::vector<std::byte> gathered(sizes.size()), listed(sizes.size()), at_root(sizes.size());
    std::vector<std::byte> own(1), left(1);
    transport.all_gather(mine, gathered);
    transport.all_gatherv(mine, sizes, listed);
    transport.gatherv(0, mine, sizes, me == 0 ? std::span(at_root) : std::span<std::byte>{});
    transport.scatterv(0, me == 0 ? std::span(at_root) : std::span<std::byte>{}, sizes, own);
    transport.send_receive(mine, (me + 1) % ranks, left, (me + ranks - 1) % ranks);

    for (int rank = 0; rank < ranks; ++rank)
      EXPECT_EQ(gathered[static_cast<std::size_t>(rank)], static_cast<std::byte>(rank));
    EXPECT_EQ(listed, gathered);
    std::vector<std::byte> rising(static_cast<std::size_t>(ranks * (ranks - 1) / 2));
    transport.all_gatherv(filled(me, me), rising_sizes(ranks), rising);  // rank 0 has nothing
    EXPECT_TRUE(is_rising(rising, ranks));
    EXPECT_EQ(own, mine);
    EXPECT_EQ(left.front(), static_cast<std::byte>((me + ranks - 1) % ranks));
  }
  const auto calls = transport.mpi_calls();
  for (const char* polled : {"MPI_Iallgather", "MPI_Igatherv", "MPI_Iscatterv"})
    EXPECT_EQ(calls.at(polled), 2) << polled;
  EXPECT_EQ(calls.at("MPI_Isend"), 2 * (1 + 2 * (ranks - 1)));  // all_gatherv: a round a peer
  EXPECT_FALSE(calls.contains("MPI_Allgatherv"));
}

std::vector<std::byte> told(Transport& transport, std::size_t size, int round) {
  const std::vector<std::byte> mine(size, static_cast<std::byte>(16 * transport.rank() + round));
  std::vector<std::byte> all(size * static_cast<std::size_t>(transport.size()));
  transport.tell(mine, all);
  return all;
}

bool is_told_by_all(std::span<const std::byte> all, std::size_t size, int ranks, int round) {
  for (int rank = 0; rank < ranks; ++rank)
    if (!is_filled(all.subspan(static_cast<std::size_t>(rank) * size, size),
                   static_cast<std::int64_t>(size), 16 * rank + round))
      return false;
  return true;
}

TEST(MpiTransport, TellsOnOneHostWithoutACall) {
  const auto session = test::make_session();
  Transport& transport = session->world();
  if (session->hosts() != 1) GTEST_SKIP() << "tells through one node's memory";

  for (int round = 0; round < 1000; ++round) {
    const auto size =
        static_cast<std::size_t>(round % 5 == 4 ? NodeTelling::kMostBytes : round % 5);
    const auto all = told(transport, size, round % 16);
    ASSERT_TRUE(is_told_by_all(all, size, transport.size(), round % 16)) << round;
  }

  EXPECT_TRUE(transport.mpi_calls().empty());
}

TEST(MpiTransport, TellsByMpiWhatTheNodesMemoryDoesNotHold) {
  const auto session = test::make_session();
  Transport& transport = session->world();

  for (int round = 0; round < 3; ++round)
    EXPECT_TRUE(is_told_by_all(told(transport, 5000, round), 5000, transport.size(), round));

  EXPECT_EQ(transport.mpi_calls().at("MPI_Allgather"), 3);
}

TEST(MpiTransport, TellsBetweenHosts) {
  const Communicator all = world();
  if (all.size() < 2) GTEST_SKIP() << "needs two ranks to play two hosts";
  TwoHosts hosts(all);
  const std::atomic<bool> may_nap = true;
  const auto calls_of = [&](const char* function) {
    const auto calls = hosts.transport.mpi_calls();
    return calls.contains(function) ? calls.at(function) : 0;
  };

  EXPECT_TRUE(is_told_by_all(told(hosts.transport, 16, 1), 16, all.size(), 1));
  const auto meetings = calls_of("MPI_Ibarrier");
  hosts.transport.set_naps(&may_nap);
  EXPECT_TRUE(is_told_by_all(told(hosts.transport, 16, 2), 16, all.size(), 2));

  EXPECT_EQ(calls_of("MPI_Allgather"), 1);
  EXPECT_EQ(calls_of("MPI_Iallgather"), 1);
  EXPECT_EQ(calls_of("MPI_Ibarrier"), meetings);  // in real time a meeting would be traffic
}

TEST(MpiTransport, SizesThatAllKnowDoNotTravelBetweenHosts) {
  const Communicator all = world();
  if (all.size() < 2) GTEST_SKIP() << "needs two ranks to play two hosts";
  TwoHosts hosts(all);
  const int me = all.rank(), ranks = all.size();
  const std::vector<std::int64_t> sizes = rising_sizes(ranks);
  FabricOptions options;
  options.clock = Clock::native;
  const auto fabric = make_fabric(hosts.transport, options);
  const auto mine = filled(me, me);
  std::vector<std::byte> gathered(static_cast<std::size_t>(ranks * (ranks - 1) / 2));
  const auto exchange = [&](std::span<const std::int64_t> known) {
    std::ranges::fill(gathered, std::byte{255});
    fabric->begin_iteration();
    fabric->wait(fabric->all_gather({mine}, gathered, known));
    EXPECT_TRUE(is_rising(gathered, ranks));
    return fabric->end_iteration();
  };

  const DeviceIteration told = exchange({}), known = exchange(sizes);

  EXPECT_EQ(told.traffic.mpi_calls.at("MPI_Iallgather"), 1);
  EXPECT_FALSE(known.traffic.mpi_calls.contains("MPI_Iallgather"));
  EXPECT_EQ(known.link_bits, told.link_bits);
  EXPECT_EQ(known.traffic.wire_bytes, told.traffic.wire_bytes);
  EXPECT_EQ(known.links.front().skew_s, 0);
}

/// By a fabric of real time, whose device `is_idle` or computes meanwhile.
void meet_often(bool is_idle) {
  const auto session = test::make_session();
  const std::atomic<bool> may_nap = !is_idle;
  session->world().set_naps(&may_nap);
  const Communicator all = world();
  NodeSegment memory(all, sizeof(std::atomic<int>));
  auto& arrivals = *reinterpret_cast<std::atomic<int>*>(memory.data());
  if (session->hosts() != 1) GTEST_SKIP() << "counts in one node's memory";

  for (int meeting = 1; meeting <= 1000; ++meeting) {
    ++arrivals;
    session->world().meet();
    EXPECT_GE(arrivals, meeting * all.size());
    session->world().meet();
  }
}

TEST(MpiTransport, NobodyLeavesAMeetingBeforeAllHaveCome) {
  meet_often(false);
}

TEST(MpiTransport, NobodyLeavesAMeetingOfIdleDevicesBeforeAllHaveCome) {
  meet_often(true);
}

}  // namespace
}  // namespace thinwire::fabric
