// The calls that complete requests: MPI's answers, but nothing is done before it has arrived.
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <vector>

#include "link_shim/world.hpp"

namespace thinwire::link_shim {
namespace {

using Requests = std::vector<MPI_Request>;

/// Every rank sends a number to every other, at once, and has a receive open for each. All sizes
/// are one int; request `p` belongs to rank p, its own is null.
class RequestTest : public testing::Test {
 protected:
  void SetUp() override {
    for (int p = 0; p < ranks_; ++p) {
      if (p == rank_) continue;
      MPI_Irecv(&in_[at(p)], 1, MPI_INT, p, 3, MPI_COMM_WORLD, &receives_[at(p)]);
      MPI_Isend(&mine_, 1, MPI_INT, p, 3, MPI_COMM_WORLD, &sends_[at(p)]);
    }
  }
  void TearDown() override {
    MPI_Waitall(ranks_, sends_.data(), MPI_STATUSES_IGNORE);
    EXPECT_TRUE(std::ranges::all_of(receives_, is_null));
    EXPECT_TRUE(std::ranges::all_of(sends_, is_null));
    for (int p = 0; p < ranks_; ++p) EXPECT_EQ(in_[at(p)], p == rank_ ? -1 : 10 * p);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  static bool is_null(MPI_Request request) { return request == MPI_REQUEST_NULL; }
  static std::size_t at(int p) { return static_cast<std::size_t>(p); }

  int rank_ = rank_of(), ranks_ = size_of();
  int mine_ = 10 * rank_;
  std::vector<int> in_ = std::vector<int>(at(ranks_), -1);
  Requests receives_ = Requests(at(ranks_), MPI_REQUEST_NULL), sends_ = receives_;
};

TEST_F(RequestTest, WaitallGivesStatuses) {
  std::vector<MPI_Status> statuses(at(ranks_));

  MPI_Waitall(ranks_, receives_.data(), statuses.data());

  for (int p = 0; p < ranks_; ++p) {
    if (p != rank_) {
      EXPECT_EQ(statuses[at(p)].MPI_SOURCE, p);
    }
  }
}

TEST_F(RequestTest, WaitanyGivesEachOnceThenNone) {
  std::vector<int> seen;
  for (int i = 0; i + 1 < ranks_; ++i) {
    int index = -1;
    MPI_Status status{};
    MPI_Waitany(ranks_, receives_.data(), &index, &status);
    EXPECT_EQ(status.MPI_SOURCE, index);
    seen.push_back(index);
  }
  int index = -1;
  MPI_Waitany(ranks_, receives_.data(), &index, MPI_STATUS_IGNORE);

  std::ranges::sort(seen);
  EXPECT_EQ(std::ranges::adjacent_find(seen), seen.end());
  EXPECT_EQ(index, MPI_UNDEFINED);
}

TEST_F(RequestTest, WaitsomeGivesAllInTheEnd) {
  std::vector<int> indices(at(ranks_));
  std::vector<MPI_Status> statuses(at(ranks_));
  int total = 0, done = 0;
  while (MPI_Waitsome(ranks_, receives_.data(), &done, indices.data(), statuses.data()),
         done != MPI_UNDEFINED) {
    ASSERT_GE(done, 1);
    for (int i = 0; i < done; ++i) EXPECT_EQ(statuses[at(i)].MPI_SOURCE, indices[at(i)]);
    total += done;
  }

  EXPECT_EQ(total, ranks_ - 1);
}

TEST_F(RequestTest, TestsAgreeWithWaits) {
  int flag = 0, index = -1, done = 0;
  std::vector<int> indices(at(ranks_));

  while (flag == 0) MPI_Testany(ranks_, receives_.data(), &index, &flag, MPI_STATUS_IGNORE);
  EXPECT_NE(index, rank_);
  for (flag = 0; flag == 0;) MPI_Testall(ranks_, receives_.data(), &flag, MPI_STATUSES_IGNORE);
  MPI_Testsome(ranks_, receives_.data(), &done, indices.data(), MPI_STATUSES_IGNORE);
  EXPECT_EQ(done, MPI_UNDEFINED);
  MPI_Testany(ranks_, receives_.data(), &index, &flag, MPI_STATUS_IGNORE);
  EXPECT_EQ(index, MPI_UNDEFINED);
  EXPECT_EQ(flag, 1);
}

TEST_F(RequestTest, StatusWithoutCompletionComesFirst) {
  for (int p = 0; p < ranks_; ++p) {
    if (p == rank_) continue;
    MPI_Status status{};
    for (int flag = 0; flag == 0;) MPI_Request_get_status(receives_[at(p)], &flag, &status);
    EXPECT_EQ(status.MPI_SOURCE, p);
    int flag = 0;
    MPI_Test(&receives_[at(p)], &flag, MPI_STATUS_IGNORE);
    EXPECT_EQ(flag, 1);
  }
}

TEST(PersistentRequest, RunsManyTimesAndRestsInBetween) {
  const int rank = rank_of(), ranks = size_of();
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  int out = 0, in = -1, flag = 0;
  Requests requests(2);
  MPI_Recv_init(&in, 1, MPI_INT, before, 4, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(&out, 1, MPI_INT, next, 4, MPI_COMM_WORLD, &requests[1]);

  for (int round = 0; round < 5; ++round) {
    out = 100 * round + rank;
    MPI_Startall(2, requests.data());
    if (round % 2 == 0)
      MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
    else
      for (flag = 0; flag == 0;) MPI_Testall(2, requests.data(), &flag, MPI_STATUSES_IGNORE);
    EXPECT_EQ(in, 100 * round + before);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);  // inactive: returns at once
  }

  int index = 0;
  MPI_Waitany(2, requests.data(), &index, MPI_STATUS_IGNORE);
  EXPECT_EQ(index, MPI_UNDEFINED);
  for (MPI_Request& request : requests) MPI_Request_free(&request);
}

TEST(ATest, DoesNotShowAMessageBeforeItHasArrived) {
  constexpr int kBytes = 50000;
  std::vector<char> data(kBytes);
  double sent_s = clock_s();
  if (rank_of() == 0) {
    MPI_Ssend(&sent_s, 1, MPI_DOUBLE, 1, 6, MPI_COMM_WORLD);
    sent_s = clock_s();
    MPI_Send(data.data(), kBytes, MPI_CHAR, 1, 7, MPI_COMM_WORLD);
    MPI_Send(&sent_s, 1, MPI_DOUBLE, 1, 8, MPI_COMM_WORLD);
  } else if (rank_of() == 1) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(data.data(), kBytes, MPI_CHAR, 0, 7, MPI_COMM_WORLD, &request);
    MPI_Recv(&sent_s, 1, MPI_DOUBLE, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int flag = 0; flag == 0;) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    const double seen_s = clock_s();
    MPI_Recv(&sent_s, 1, MPI_DOUBLE, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT_GE(seen_s - sent_s, link_s(kBytes) + link_latency_s());
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace
}  // namespace thinwire::link_shim
