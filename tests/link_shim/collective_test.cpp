// Collectives under the shim: every payload comes whole.
#include <gtest/gtest.h>
#include <mpi.h>

#include <functional>
#include <vector>

#include "link_shim/world.hpp"

namespace thinwire::link_shim {
namespace {

using Numbers = std::vector<int>;

Numbers slice(const Numbers& all, int index, int count = 7) {
  return {all.begin() + index * count, all.begin() + (index + 1) * count};
}

/// Sums of numbers() over all ranks, or over those below `ranks`.
Numbers sums(int ranks, int count = 7) {
  Numbers total(static_cast<std::size_t>(count), 0);
  for (int rank = 0; rank < ranks; ++rank) {
    const Numbers some = numbers(rank, count);
    for (std::size_t i = 0; i < total.size(); ++i) total[i] += some[i];
  }
  return total;
}

/// Counts and places of ranks that bring rank + 1 numbers each.
struct Uneven {
  explicit Uneven(int ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      places.push_back(total);
      counts.push_back(rank + 1);
      total += rank + 1;
    }
  }
  Numbers whole() const {
    Numbers all;
    for (std::size_t rank = 0; rank < counts.size(); ++rank) {
      const Numbers some = numbers(static_cast<int>(rank), counts[rank]);
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }
  Numbers counts, places;
  int total = 0;
};

/// Runs each test with the blocking call and with the one that only begins.
class CollectiveTest : public testing::TestWithParam<bool> {
 protected:
  template <class Blocking, class Beginning>
  void call(Blocking blocking, Beginning beginning) {
    if (!GetParam()) {
      blocking();
      return;
    }
    MPI_Request request = MPI_REQUEST_NULL;
    beginning(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(request, MPI_REQUEST_NULL);
  }

  MPI_Comm world_ = MPI_COMM_WORLD;
  int rank_ = rank_of(), ranks_ = size_of();
  int root_ = ranks_ - 1;
  Numbers mine_ = numbers(rank_);
};

INSTANTIATE_TEST_SUITE_P(Calls, CollectiveTest, testing::Bool(),
                         [](const auto& kind) { return kind.param ? "Nonblocking" : "Blocking"; });

TEST_P(CollectiveTest, Bcast) {
  Numbers data = rank_ == root_ ? numbers(root_) : Numbers(7);

  call([&] { MPI_Bcast(data.data(), 7, MPI_INT, root_, world_); },
       [&](MPI_Request* r) { MPI_Ibcast(data.data(), 7, MPI_INT, root_, world_, r); });

  EXPECT_EQ(data, numbers(root_));
}

TEST_P(CollectiveTest, Gather) {
  Numbers all(static_cast<std::size_t>(7 * ranks_));

  call([&] { MPI_Gather(mine_.data(), 7, MPI_INT, all.data(), 7, MPI_INT, root_, world_); },
       [&](MPI_Request* r) {
         MPI_Igather(mine_.data(), 7, MPI_INT, all.data(), 7, MPI_INT, root_, world_, r);
       });

  if (rank_ == root_) {
    EXPECT_EQ(all, all_numbers(ranks_));
  }
}

TEST_P(CollectiveTest, GatherInPlaceAtTheRoot) {
  Numbers all(static_cast<std::size_t>(7 * ranks_));
  std::ranges::copy(mine_, all.begin() + 7 * rank_);
  const void* const data = rank_ == root_ ? MPI_IN_PLACE : mine_.data();

  call([&] { MPI_Gather(data, 7, MPI_INT, all.data(), 7, MPI_INT, root_, world_); },
       [&](MPI_Request* r) {
         MPI_Igather(data, 7, MPI_INT, all.data(), 7, MPI_INT, root_, world_, r);
       });

  if (rank_ == root_) {
    EXPECT_EQ(all, all_numbers(ranks_));
  }
}

TEST_P(CollectiveTest, Gatherv) {
  const Uneven uneven(ranks_);
  Numbers all(static_cast<std::size_t>(uneven.total));
  const int count = rank_ + 1;

  call(
      [&] {
        MPI_Gatherv(mine_.data(), count, MPI_INT, all.data(), uneven.counts.data(),
                    uneven.places.data(), MPI_INT, root_, world_);
      },
      [&](MPI_Request* r) {
        MPI_Igatherv(mine_.data(), count, MPI_INT, all.data(), uneven.counts.data(),
                     uneven.places.data(), MPI_INT, root_, world_, r);
      });

  if (rank_ == root_) {
    EXPECT_EQ(all, uneven.whole());
  }
}

TEST_P(CollectiveTest, Scatter) {
  const Numbers all = all_numbers(ranks_);
  Numbers part(7);

  call([&] { MPI_Scatter(all.data(), 7, MPI_INT, part.data(), 7, MPI_INT, root_, world_); },
       [&](MPI_Request* r) {
         MPI_Iscatter(all.data(), 7, MPI_INT, part.data(), 7, MPI_INT, root_, world_, r);
       });

  EXPECT_EQ(part, mine_);
}

TEST_P(CollectiveTest, Scatterv) {
  const Uneven uneven(ranks_);
  const Numbers all = uneven.whole();
  const int count = rank_ + 1;
  Numbers part(static_cast<std::size_t>(count));

  call(
      [&] {
        MPI_Scatterv(all.data(), uneven.counts.data(), uneven.places.data(), MPI_INT, part.data(),
                     count, MPI_INT, root_, world_);
      },
      [&](MPI_Request* r) {
        MPI_Iscatterv(all.data(), uneven.counts.data(), uneven.places.data(), MPI_INT, part.data(),
                      count, MPI_INT, root_, world_, r);
      });

  EXPECT_EQ(part, numbers(rank_, count));
}

TEST_P(CollectiveTest, Allgather) {
  Numbers all(static_cast<std::size_t>(7 * ranks_));

  call([&] { MPI_Allgather(mine_.data(), 7, MPI_INT, all.data(), 7, MPI_INT, world_); },
       [&](MPI_Request* r) {
         MPI_Iallgather(mine_.data(), 7, MPI_INT, all.data(), 7, MPI_INT, world_, r);
       });

  EXPECT_EQ(all, all_numbers(ranks_));
}

TEST_P(CollectiveTest, AllgatherInPlace) {
  Numbers all(static_cast<std::size_t>(7 * ranks_));
  std::ranges::copy(mine_, all.begin() + 7 * rank_);

  // What stands for the data's count and type in place is of no meaning.
  call([&] { MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(), 7, MPI_INT, world_); },
       [&](MPI_Request* r) {
         MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all.data(), 7, MPI_INT, world_, r);
       });

  EXPECT_EQ(all, all_numbers(ranks_));
}

TEST_P(CollectiveTest, Allgatherv) {
  const Uneven uneven(ranks_);
  Numbers all(static_cast<std::size_t>(uneven.total));
  const int count = rank_ + 1;

  call(
      [&] {
        MPI_Allgatherv(mine_.data(), count, MPI_INT, all.data(), uneven.counts.data(),
                       uneven.places.data(), MPI_INT, world_);
      },
      [&](MPI_Request* r) {
        MPI_Iallgatherv(mine_.data(), count, MPI_INT, all.data(), uneven.counts.data(),
                        uneven.places.data(), MPI_INT, world_, r);
      });

  EXPECT_EQ(all, uneven.whole());
}

/// What rank `from` has for rank `to`.
int parcel(int from, int to) {
  return 100 * from + to;
}

TEST_P(CollectiveTest, Alltoall) {
  Numbers out, in(static_cast<std::size_t>(ranks_)), expected;
  for (int peer = 0; peer < ranks_; ++peer) {
    out.push_back(parcel(rank_, peer));
    expected.push_back(parcel(peer, rank_));
  }

  call([&] { MPI_Alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, world_); },
       [&](MPI_Request* r) {
         MPI_Ialltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, world_, r);
       });

  EXPECT_EQ(in, expected);
}

TEST_P(CollectiveTest, AlltoallvAndAlltoallw) {
  // To rank q go q + 1 numbers: everyone receives rank + 1 from each.
  const Uneven out_counts(ranks_);
  const auto peers = static_cast<std::size_t>(ranks_);
  const Numbers in_counts(peers, rank_ + 1);
  Numbers in_places, out, expected, in(peers * in_counts[0]), in_bytes, out_bytes;
  for (int peer = 0; peer < ranks_; ++peer) {
    in_places.push_back(peer * (rank_ + 1));
    in_bytes.push_back(4 * in_places.back());
    out_bytes.push_back(4 * out_counts.places[static_cast<std::size_t>(peer)]);
    out.insert(out.end(), static_cast<std::size_t>(peer) + 1, parcel(rank_, peer));
    expected.insert(expected.end(), static_cast<std::size_t>(rank_) + 1, parcel(peer, rank_));
  }

  call(
      [&] {
        MPI_Alltoallv(out.data(), out_counts.counts.data(), out_counts.places.data(), MPI_INT,
                      in.data(), in_counts.data(), in_places.data(), MPI_INT, world_);
      },
      [&](MPI_Request* r) {
        MPI_Ialltoallv(out.data(), out_counts.counts.data(), out_counts.places.data(), MPI_INT,
                       in.data(), in_counts.data(), in_places.data(), MPI_INT, world_, r);
      });
  EXPECT_EQ(in, expected);

  const std::vector<MPI_Datatype> types(peers, MPI_INT);
  std::ranges::fill(in, 0);
  call(
      [&] {
        MPI_Alltoallw(out.data(), out_counts.counts.data(), out_bytes.data(), types.data(),
                      in.data(), in_counts.data(), in_bytes.data(), types.data(), world_);
      },
      [&](MPI_Request* r) {
        MPI_Ialltoallw(out.data(), out_counts.counts.data(), out_bytes.data(), types.data(),
                       in.data(), in_counts.data(), in_bytes.data(), types.data(), world_, r);
      });
  EXPECT_EQ(in, expected);
}

TEST_P(CollectiveTest, Reduce) {
  Numbers total(7);

  call([&] { MPI_Reduce(mine_.data(), total.data(), 7, MPI_INT, MPI_SUM, root_, world_); },
       [&](MPI_Request* r) {
         MPI_Ireduce(mine_.data(), total.data(), 7, MPI_INT, MPI_SUM, root_, world_, r);
       });

  if (rank_ == root_) {
    EXPECT_EQ(total, sums(ranks_));
  }
}

TEST_P(CollectiveTest, AllreduceInPlaceToo) {
  Numbers total(7);

  call([&] { MPI_Allreduce(mine_.data(), total.data(), 7, MPI_INT, MPI_SUM, world_); },
       [&](MPI_Request* r) {
         MPI_Iallreduce(mine_.data(), total.data(), 7, MPI_INT, MPI_SUM, world_, r);
       });
  EXPECT_EQ(total, sums(ranks_));

  call([&] { MPI_Allreduce(MPI_IN_PLACE, mine_.data(), 7, MPI_INT, MPI_SUM, world_); },
       [&](MPI_Request* r) {
         MPI_Iallreduce(MPI_IN_PLACE, mine_.data(), 7, MPI_INT, MPI_SUM, world_, r);
       });
  EXPECT_EQ(mine_, sums(ranks_));
}

TEST_P(CollectiveTest, ReduceScatterBlock) {
  const Numbers data = numbers(rank_, 7 * ranks_);
  Numbers part(7);

  call([&] { MPI_Reduce_scatter_block(data.data(), part.data(), 7, MPI_INT, MPI_SUM, world_); },
       [&](MPI_Request* r) {
         MPI_Ireduce_scatter_block(data.data(), part.data(), 7, MPI_INT, MPI_SUM, world_, r);
       });

  EXPECT_EQ(part, slice(sums(ranks_, 7 * ranks_), rank_));
}

TEST_P(CollectiveTest, ReduceScatter) {
  const Uneven uneven(ranks_);
  const Numbers data = numbers(rank_, uneven.total), total = sums(ranks_, uneven.total);
  Numbers part(static_cast<std::size_t>(rank_) + 1);

  call(
      [&] {
        MPI_Reduce_scatter(data.data(), part.data(), uneven.counts.data(), MPI_INT, MPI_SUM,
                           world_);
      },
      [&](MPI_Request* r) {
        MPI_Ireduce_scatter(data.data(), part.data(), uneven.counts.data(), MPI_INT, MPI_SUM,
                            world_, r);
      });

  const auto first = total.begin() + uneven.places[static_cast<std::size_t>(rank_)];
  EXPECT_EQ(part, Numbers(first, first + rank_ + 1));
}

TEST_P(CollectiveTest, ScanAndExscan) {
  Numbers total(7);

  call([&] { MPI_Scan(mine_.data(), total.data(), 7, MPI_INT, MPI_SUM, world_); },
       [&](MPI_Request* r) {
         MPI_Iscan(mine_.data(), total.data(), 7, MPI_INT, MPI_SUM, world_, r);
       });
  EXPECT_EQ(total, sums(rank_ + 1));

  call([&] { MPI_Exscan(mine_.data(), total.data(), 7, MPI_INT, MPI_SUM, world_); },
       [&](MPI_Request* r) {
         MPI_Iexscan(mine_.data(), total.data(), 7, MPI_INT, MPI_SUM, world_, r);
       });
  if (rank_ > 0) {
    EXPECT_EQ(total, sums(rank_));
  }
}

TEST_P(CollectiveTest, NobodyLeavesABarrierBeforeAllHaveCome) {
  const double came_s = clock_s();

  call([&] { MPI_Barrier(world_); }, [&](MPI_Request* r) { MPI_Ibarrier(world_, r); });

  const double left_s = clock_s();
  EXPECT_GE(earliest(left_s), latest(came_s));
}

TEST(CollectiveOrder, SeveralMayBeUnderWayAndEndInAnyOrder) {
  const int rank = rank_of(), ranks = size_of();
  const Numbers mine = numbers(rank);
  Numbers all(static_cast<std::size_t>(7 * ranks)), total(7), data(rank == 0 ? numbers(9) : mine);
  std::array<MPI_Request, 3> requests{};

  MPI_Iallgather(mine.data(), 7, MPI_INT, all.data(), 7, MPI_INT, MPI_COMM_WORLD, &requests[0]);
  MPI_Iallreduce(mine.data(), total.data(), 7, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
  MPI_Ibcast(data.data(), 7, MPI_INT, 0, MPI_COMM_WORLD, &requests[2]);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Waitall(3, requests.data(), MPI_STATUSES_IGNORE);

  EXPECT_EQ(all, all_numbers(ranks));
  EXPECT_EQ(total, sums(ranks));
  EXPECT_EQ(data, numbers(9));
}

}  // namespace
}  // namespace thinwire::link_shim
