// Nothing is faster than the link: lower bounds only, which a busy machine cannot break.
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "link_shim/world.hpp"

namespace thinwire::link_shim {
namespace {

constexpr int kBytes = 40000;  // 3.2 ms at 100 Mbps

std::string topology() {
  return std::getenv("THINWIRE_TOPOLOGY");
}

class TimeTest : public testing::Test {
 protected:
  /// From the first rank's start of `call` to the last rank's end.
  template <class Call>
  double time(Call call) {
    MPI_Barrier(world_);
    const double begin_s = clock_s();
    call();
    const double end_s = clock_s();
    return latest(end_s) - earliest(begin_s);
  }
  /// The copies that one after the other go to one rank from all others.
  int copies() const { return topology() == "broadcast" ? 1 : ranks_ - 1; }
  /// How long the link needs at least for `bytes` from every rank to every other.
  double exchange_s(double bytes) const {
    return link_s(bytes) * copies() * (topology() == "shared" ? ranks_ : 1);
  }

  int rank_ = rank_of(), ranks_ = size_of(), root_ = 0;
  MPI_Comm world_ = MPI_COMM_WORLD;
  std::vector<char> data_ = std::vector<char>(kBytes * 4), into_ = data_;
};

TEST_F(TimeTest, AMessageTakesItsBitsAndTheLatency) {
  double sent_s = clock_s();
  if (rank_ == 0) {
    MPI_Send(data_.data(), kBytes, MPI_CHAR, 1, 0, world_);
    EXPECT_GE(clock_s() - sent_s, link_s(kBytes));
    MPI_Send(&sent_s, 1, MPI_DOUBLE, 1, 0, world_);
  } else if (rank_ == 1) {
    MPI_Recv(into_.data(), kBytes, MPI_CHAR, 0, 0, world_, MPI_STATUS_IGNORE);
    const double seen_s = clock_s();
    MPI_Recv(&sent_s, 1, MPI_DOUBLE, 0, 0, world_, MPI_STATUS_IGNORE);
    EXPECT_GE(seen_s - sent_s, link_s(kBytes) + link_latency_s());
  }
}

TEST_F(TimeTest, MessagesOfOneSenderQueue) {
  std::array<MPI_Request, 4> requests{};
  const double begin_s = clock_s();
  if (rank_ == 0) {
    for (MPI_Request& request : requests)
      MPI_Isend(data_.data(), kBytes, MPI_CHAR, 1, 0, world_, &request);
  } else if (rank_ == 1) {
    for (MPI_Request& request : requests)
      MPI_Irecv(into_.data(), kBytes, MPI_CHAR, 0, 0, world_, &request);
  }
  if (rank_ < 2) MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE);
  const double end_s = clock_s();

  if (rank_ == 0) {
    EXPECT_GE(end_s - begin_s, link_s(4 * kBytes));
  }
  EXPECT_GE(latest(end_s) - earliest(begin_s), link_s(4 * kBytes) + link_latency_s());
}

TEST_F(TimeTest, AReceiversPortTakesOneMessageAtATime) {
  double begin_s = clock_s(), end_s = 0;
  if (rank_ != 0) {
    MPI_Send(data_.data(), kBytes, MPI_CHAR, 0, 0, world_);
  } else {
    for (int p = 1; p < ranks_; ++p)
      MPI_Recv(into_.data(), kBytes, MPI_CHAR, p, 0, world_, MPI_STATUS_IGNORE);
    end_s = clock_s();
  }
  begin_s = rank_ == 0 ? 1e300 : begin_s;
  const double took_s = latest(end_s) - earliest(begin_s);

  EXPECT_GE(took_s, copies() * link_s(kBytes) + link_latency_s());
}

TEST_F(TimeTest, BothWaysOfSendrecvAreBusy) {
  const int next = (rank_ + 1) % ranks_, before = (rank_ + ranks_ - 1) % ranks_;

  const double took_s = time([&] {
    MPI_Sendrecv(data_.data(), kBytes, MPI_CHAR, next, 0, into_.data(), kBytes, MPI_CHAR, before, 0,
                 world_, MPI_STATUS_IGNORE);
  });

  EXPECT_GE(took_s, link_s(kBytes) + link_latency_s());
}

TEST_F(TimeTest, GatherAndScatter) {
  const double gather_s = time([&] {
    MPI_Gather(data_.data(), kBytes, MPI_CHAR, into_.data(), kBytes, MPI_CHAR, root_, world_);
  });
  const double scatter_s = time([&] {
    MPI_Scatter(data_.data(), kBytes, MPI_CHAR, into_.data(), kBytes, MPI_CHAR, root_, world_);
  });

  EXPECT_GE(gather_s, copies() * link_s(kBytes) + link_latency_s());
  EXPECT_GE(scatter_s, (ranks_ - 1) * link_s(kBytes) + link_latency_s());
}

TEST_F(TimeTest, AllgatherTakesWhatTheFormulaSays) {
  const double took_s = time([&] {
    MPI_Allgather(data_.data(), kBytes, MPI_CHAR, into_.data(), kBytes, MPI_CHAR, world_);
  });

  EXPECT_GE(took_s, exchange_s(kBytes) + link_latency_s());
}

TEST_F(TimeTest, ManyAllgathersTakeTheirSum) {
  constexpr int kRounds = 5;
  const double begin_s = earliest(clock_s());
  for (int round = 0; round < kRounds; ++round)
    MPI_Allgather(data_.data(), kBytes, MPI_CHAR, into_.data(), kBytes, MPI_CHAR, world_);

  EXPECT_GE(latest(clock_s()) - begin_s, kRounds * exchange_s(kBytes));
}

TEST_F(TimeTest, AllreduceGoesTwiceRoundTheRing) {
  const double took_s =
      time([&] { MPI_Allreduce(data_.data(), into_.data(), kBytes, MPI_CHAR, MPI_MAX, world_); });

  EXPECT_GE(took_s, 2 * (ranks_ - 1) * (link_s(kBytes / ranks_) + link_latency_s()));
}

TEST_F(TimeTest, AlltoallSendsToEachInTurn) {
  const double took_s = time([&] {
    MPI_Alltoall(data_.data(), kBytes, MPI_CHAR, into_.data(), kBytes, MPI_CHAR, world_);
  });

  EXPECT_GE(took_s, link_s(kBytes) * (ranks_ - 1) + link_latency_s());
}

TEST_F(TimeTest, ANonblockingCollectivePassesInTheBackground) {
  MPI_Request request = MPI_REQUEST_NULL;
  const double begin_s = earliest(clock_s());
  MPI_Iallgather(data_.data(), kBytes, MPI_CHAR, into_.data(), kBytes, MPI_CHAR, world_, &request);
  for (int flag = 0; flag == 0;) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  const double end_s = latest(clock_s());

  EXPECT_GE(end_s - begin_s, exchange_s(kBytes) + link_latency_s());
}

TEST_F(TimeTest, ABarrierTakesTheLatency) {
  const double took_s = time([&] { MPI_Barrier(world_); });

  EXPECT_GE(took_s, link_latency_s());
}

}  // namespace
}  // namespace thinwire::link_shim
