// Messages under the shim: contents, order and statuses are MPI's own, for every pair of calls.
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <functional>
#include <vector>

#include "link_shim/world.hpp"

namespace thinwire::link_shim {
namespace {

using Numbers = std::vector<int>;

/// The ways to send numbers() of this rank to `to`, and to be done with it.
struct Sending {
  const char* name;
  void (*send)(Numbers& data, int to, MPI_Comm comm);
};

template <class Begin>
void finish_after(Begin begin) {
  MPI_Request request = MPI_REQUEST_NULL;
  begin(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/// A persistent request, used twice in its life by the caller's two rounds.
template <class Prepare>
void run_persistent(Prepare prepare) {
  MPI_Request request = MPI_REQUEST_NULL;
  prepare(&request);
  MPI_Start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_NE(request, MPI_REQUEST_NULL);
  MPI_Request_free(&request);
}

constexpr int kTag = 5;

const std::array kSendings = {
    Sending{"Send",
            [](Numbers& d, int to, MPI_Comm c) { MPI_Send(d.data(), 7, MPI_INT, to, kTag, c); }},
    Sending{"Ssend",
            [](Numbers& d, int to, MPI_Comm c) { MPI_Ssend(d.data(), 7, MPI_INT, to, kTag, c); }},
    Sending{"Bsend",
            [](Numbers& d, int to, MPI_Comm c) { MPI_Bsend(d.data(), 7, MPI_INT, to, kTag, c); }},
    Sending{"Isend",
            [](Numbers& d, int to, MPI_Comm c) {
              finish_after(
                  [&](MPI_Request* r) { MPI_Isend(d.data(), 7, MPI_INT, to, kTag, c, r); });
            }},
    Sending{"Issend",
            [](Numbers& d, int to, MPI_Comm c) {
              finish_after(
                  [&](MPI_Request* r) { MPI_Issend(d.data(), 7, MPI_INT, to, kTag, c, r); });
            }},
    Sending{"Ibsend",
            [](Numbers& d, int to, MPI_Comm c) {
              finish_after(
                  [&](MPI_Request* r) { MPI_Ibsend(d.data(), 7, MPI_INT, to, kTag, c, r); });
            }},
    Sending{"Send_init",
            [](Numbers& d, int to, MPI_Comm c) {
              run_persistent(
                  [&](MPI_Request* r) { MPI_Send_init(d.data(), 7, MPI_INT, to, kTag, c, r); });
            }},
    Sending{"Ssend_init",
            [](Numbers& d, int to, MPI_Comm c) {
              run_persistent(
                  [&](MPI_Request* r) { MPI_Ssend_init(d.data(), 7, MPI_INT, to, kTag, c, r); });
            }},
};

/// The ways to receive from `from`, which may be a wildcard; each returns the source.
struct Receiving {
  const char* name;
  int (*receive)(Numbers& data, int from, MPI_Comm comm);
};

const std::array kReceivings = {
    Receiving{"Recv",
              [](Numbers& d, int from, MPI_Comm c) {
                MPI_Status status{};
                MPI_Recv(d.data(), 7, MPI_INT, from, kTag, c, &status);
                return status.MPI_SOURCE;
              }},
    Receiving{"RecvOfAnyTag",
              [](Numbers& d, int, MPI_Comm c) {
                MPI_Status status{};
                MPI_Recv(d.data(), 7, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, c, &status);
                return status.MPI_SOURCE;
              }},
    Receiving{"Irecv",
              [](Numbers& d, int from, MPI_Comm c) {
                MPI_Request request = MPI_REQUEST_NULL;
                MPI_Status status{};
                MPI_Irecv(d.data(), 7, MPI_INT, from, kTag, c, &request);
                MPI_Wait(&request, &status);
                return status.MPI_SOURCE;
              }},
    Receiving{"Recv_init",
              [](Numbers& d, int from, MPI_Comm c) {
                MPI_Request request = MPI_REQUEST_NULL;
                MPI_Status status{};
                MPI_Recv_init(d.data(), 7, MPI_INT, from, kTag, c, &request);
                MPI_Startall(1, &request);
                MPI_Wait(&request, &status);
                MPI_Request_free(&request);
                return status.MPI_SOURCE;
              }},
    Receiving{"Mprobe",
              [](Numbers& d, int from, MPI_Comm c) {
                MPI_Message message = MPI_MESSAGE_NULL;
                MPI_Status status{};
                MPI_Mprobe(from, kTag, c, &message, MPI_STATUS_IGNORE);
                MPI_Mrecv(d.data(), 7, MPI_INT, &message, &status);
                return status.MPI_SOURCE;
              }},
    Receiving{"Improbe",
              [](Numbers& d, int from, MPI_Comm c) {
                MPI_Message message = MPI_MESSAGE_NULL;
                MPI_Request request = MPI_REQUEST_NULL;
                MPI_Status status{};
                for (int is_there = 0; is_there == 0;)
                  MPI_Improbe(from, kTag, c, &is_there, &message, MPI_STATUS_IGNORE);
                MPI_Imrecv(d.data(), 7, MPI_INT, &message, &request);
                MPI_Wait(&request, &status);
                return status.MPI_SOURCE;
              }},
    Receiving{"Probe",
              [](Numbers& d, int from, MPI_Comm c) {
                MPI_Status status{};
                MPI_Probe(from, kTag, c, &status);
                MPI_Recv(d.data(), 7, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, c, &status);
                return status.MPI_SOURCE;
              }},
};

/// MPI_Bsend's room, for as long as it lives.
class Buffer {
 public:
  Buffer() { MPI_Buffer_attach(room_.data(), static_cast<int>(room_.size())); }
  Buffer(const Buffer&) = delete;
  ~Buffer() {
    void* room = nullptr;
    int size = 0;
    MPI_Buffer_detach(static_cast<void*>(&room), &size);
  }

 private:
  std::vector<char> room_ = std::vector<char>(1 << 20);
};

void expect_every_pair(MPI_Comm comm) {
  const int rank = rank_of(comm), ranks = size_of(comm);
  Numbers mine = numbers(rank);
  const Buffer buffer;
  for (const Sending& sending : kSendings) {
    for (const Receiving& receiving : kReceivings) {
      SCOPED_TRACE(testing::Message() << sending.name << " to " << receiving.name);
      Numbers received(7);
      // Down the chain of ranks: who sends is not the one that receives.
      if (rank > 0) {
        EXPECT_EQ(receiving.receive(received, rank - 1, comm), rank - 1);
        EXPECT_EQ(received, numbers(rank - 1));
      }
      if (rank + 1 < ranks) sending.send(mine, rank + 1, comm);
    }
  }
}

TEST(Message, EverySendMeetsEveryReceive) {
  expect_every_pair(MPI_COMM_WORLD);
}

TEST(Message, CommunicatorsOfTheProgramToo) {
  MPI_Comm copy = MPI_COMM_NULL, part = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  // In the reverse order: ranks there are others than here.
  MPI_Comm_split(MPI_COMM_WORLD, rank_of() == 0 ? MPI_UNDEFINED : 1, -rank_of(), &part);

  expect_every_pair(copy);
  if (part != MPI_COMM_NULL) {
    expect_every_pair(part);
    int sum = 0;
    const int one = 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, part);
    EXPECT_EQ(sum, size_of() - 1);
    MPI_Comm_free(&part);
  }
  MPI_Comm_free(&copy);
}

TEST(Message, MessagesOfACommunicatorThatWasFreedEndWithIt) {
  const int peer = rank_of() ^ 1;
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  Numbers mine = numbers(rank_of()), received(7);
  std::array<MPI_Request, 2> requests = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  const int to = peer < size_of() ? peer : MPI_PROC_NULL;

  MPI_Irecv(received.data(), 7, MPI_INT, to, 0, copy, &requests[0]);
  MPI_Isend(mine.data(), 7, MPI_INT, to, 0, copy, &requests[1]);
  MPI_Comm_free(&copy);
  MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);

  if (to != MPI_PROC_NULL) {
    EXPECT_EQ(received, numbers(peer));
  }
}

TEST(Message, SendrecvGoesRoundTheRing) {
  const int rank = rank_of(), ranks = size_of();
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  Numbers mine = numbers(rank), received(7);

  MPI_Sendrecv(mine.data(), 7, MPI_INT, next, 1, received.data(), 7, MPI_INT, before, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv_replace(mine.data(), 7, MPI_INT, next, 2, before, 2, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);

  EXPECT_EQ(received, numbers(before));
  EXPECT_EQ(mine, numbers(before));
}

TEST(Message, ToOneselfAndToNobody) {
  Numbers mine = numbers(rank_of()), received(7), nothing = numbers(99);
  MPI_Status status{};

  MPI_Sendrecv(mine.data(), 7, MPI_INT, rank_of(), 1, received.data(), 7, MPI_INT, rank_of(), 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Send(mine.data(), 7, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
  MPI_Recv(nothing.data(), 7, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);

  EXPECT_EQ(received, mine);
  EXPECT_EQ(nothing, numbers(99));
  EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
}

TEST(Message, OneSourceAndTagKeepTheirOrder) {
  constexpr int kMessages = 40;
  const int rank = rank_of(), ranks = size_of();
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  std::array<int, kMessages> out{}, in{};
  std::vector<MPI_Request> requests(2 * kMessages);

  for (std::size_t i = 0; i < kMessages; ++i) {
    const int tag = static_cast<int>(i % 3);
    out[i] = static_cast<int>(i);
    MPI_Irecv(&in[i], 1, MPI_INT, before, tag, MPI_COMM_WORLD, &requests[i]);
    MPI_Isend(&out[i], 1, MPI_INT, next, tag, MPI_COMM_WORLD, &requests[kMessages + i]);
  }
  MPI_Waitall(2 * kMessages, requests.data(), MPI_STATUSES_IGNORE);

  EXPECT_EQ(in, out);
}

TEST(Message, ACancelledReceiveTakesNothingFromTheNext) {
  const int rank = rank_of(), ranks = size_of();
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  Numbers mine = numbers(rank), received(7);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status{};
  int is_cancelled = 0;

  MPI_Irecv(received.data(), 7, MPI_INT, before, 77, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &is_cancelled);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Sendrecv(mine.data(), 7, MPI_INT, next, 77, received.data(), 7, MPI_INT, before, 77,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);

  EXPECT_NE(is_cancelled, 0);
  EXPECT_EQ(received, numbers(before));
}

}  // namespace
}  // namespace thinwire::link_shim
