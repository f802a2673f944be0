#include "fabric/mpi_transport.hpp"

#include <algorithm>
#include <chrono>
#include <climits>
#include <thread>
#include <utility>

#include "thinwire/base/error.hpp"

namespace thinwire::fabric {
namespace {

struct Names {
  const char *blocking, *polled;  // polled: null where it is made of others
};
constexpr std::array kNames = {
    Names{"MPI_Allgather", "MPI_Iallgather"}, Names{"MPI_Allgatherv", nullptr},
    Names{"MPI_Barrier", "MPI_Ibarrier"},     Names{"MPI_Gatherv", "MPI_Igatherv"},
    Names{"MPI_Scatterv", "MPI_Iscatterv"},   Names{"MPI_Sendrecv", "MPI_Isend"}};

/// For how long a device without work looks for its peers before it sleeps: as OpenMP's threads.
constexpr std::chrono::nanoseconds kPatience{20'000};

constexpr const char* kLeft = "this rank left the others";

int to_count(std::int64_t bytes) {
  TW_REQUIRE(bytes >= 0 && bytes <= INT_MAX, "{} bytes in one call: MPI counts end at {}", bytes,
             INT_MAX);
  return static_cast<int>(bytes);
}

int peer(int rank) {
  return rank < 0 ? MPI_PROC_NULL : rank;
}

}  // namespace

MpiTransport::MpiTransport(Communicator all, Communicator node, Turn& turn)
    : all_(std::move(all)),
      node_(std::move(node)),
      leaders_(all_.split(node_.rank() == 0 ? 0 : -1)),
      rank_(all_.rank()),
      size_(all_.size()),
      segment_(node_, NodeTelling::memory_bytes(static_cast<std::uint32_t>(node_.size()))),
      telling_(segment_.data(), static_cast<std::uint32_t>(node_.size()),
               static_cast<std::uint32_t>(node_.rank())),
      turn_(turn),
      counts_(static_cast<std::size_t>(size_)),
      displacements_(counts_.size()) {
  const int is_leader = node_.rank() == 0 ? 1 : 0;
  check_mpi(MPI_Allreduce(&is_leader, &hosts_, 1, MPI_INT, MPI_SUM, all_.handle()),
            "MPI_Allreduce");
  check_mpi(MPI_Allreduce(&rank_, &host_, 1, MPI_INT, MPI_MIN, node_.handle()), "MPI_Allreduce");
}

void MpiTransport::meet() {
  meet_on_this_host();
  if (hosts_ == 1) return;
  if (!leaders_.is_null()) meet_other_hosts();
  meet_on_this_host();
}

void MpiTransport::meet_on_this_host() {
  if (!telling_.meet(is_abandoned_, patience())) throw Error(kLeft);
}

std::chrono::nanoseconds MpiTransport::patience() const {
  const bool is_idle = may_nap_ != nullptr && !*may_nap_;
  return is_idle ? kPatience : std::chrono::nanoseconds(0);
}

void MpiTransport::tell(std::span<const std::byte> mine, std::span<std::byte> all) {
  TW_REQUIRE(all.size() == mine.size() * counts_.size(), "{} ranks tell {} bytes into {}", size_,
             mine.size(), all.size());
  if (hosts_ == 1 && mine.size() <= NodeTelling::kMostBytes) {
    if (!telling_.tell(mine, all, is_abandoned_, patience())) throw Error(kLeft);
    return;
  }
  if (!is_polled()) meet();  // an all-gather that is polled is a meeting itself
  all_gather(mine, all);
}

/// MPI_Barrier would spin.
void MpiTransport::meet_other_hosts() {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibarrier(leaders_.handle(), &request), "MPI_Ibarrier");
  ++calls_[kBarrier].polled;
  finish({&request, 1}, true);
}

template <class Block, class Start>
void MpiTransport::call(Function function, Block block, Start start) {
  if (!is_polled()) {
    ++calls_[function].blocking;
    check_mpi(block(), kNames[function].blocking);
    return;
  }
  MPI_Request request = MPI_REQUEST_NULL;
  ++calls_[function].polled;
  check_mpi(start(&request), kNames[function].polled);
  finish({&request, 1}, *may_nap_);
}

/// MPI_Testall between growing naps leaves the core to those who compute.
void MpiTransport::finish(std::span<MPI_Request> requests, const std::atomic<bool>& may_nap,
                          MPI_Status* statuses) {
  constexpr std::chrono::microseconds kShortest{5}, kLongest{100};
  std::chrono::microseconds nap = kShortest;
  for (int is_done = 0;;) {
    check_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &is_done, statuses),
              "MPI_Testall");
    if (is_done != 0) return;
    if (is_abandoned_) throw Error(kLeft);
    if (!may_nap) {
      std::this_thread::yield();
      continue;
    }
    std::this_thread::sleep_for(nap);
    nap = std::min(2 * nap, kLongest);
  }
}

void MpiTransport::all_gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  TW_REQUIRE(all.size() == mine.size() * counts_.size(), "{} ranks' {} bytes into {}", size_,
             mine.size(), all.size());
  const int count = to_count(std::ssize(mine));
  call(
      kAllgather,
      [&] {
        return MPI_Allgather(mine.data(), count, MPI_BYTE, all.data(), count, MPI_BYTE,
                             all_.handle());
      },
      [&](MPI_Request* request) {
        return MPI_Iallgather(mine.data(), count, MPI_BYTE, all.data(), count, MPI_BYTE,
                              all_.handle(), request);
      });
}

void MpiTransport::all_gatherv(std::span<const std::byte> mine, std::span<const std::int64_t> sizes,
                               std::span<std::byte> all) {
  const std::int64_t total = lay_out(mine.size(), sizes);
  TW_REQUIRE(total <= std::ssize(all), "{} bytes into a buffer of {}", total, all.size());
  if (is_polled()) {
    all_gatherv_in_rounds(mine, all);
    return;
  }
  ++calls_[kAllgatherv].blocking;
  check_mpi(MPI_Allgatherv(mine.data(), to_count(std::ssize(mine)), MPI_BYTE, all.data(),
                           counts_.data(), displacements_.data(), MPI_BYTE, all_.handle()),
            "MPI_Allgatherv");
}

/// As the link model has it: in round k rank s sends to s + k, so that nobody hears two at once,
/// and nothing is sent where there is nothing. MPI_Iallgatherv sends to all at once; at the ports
/// of a switch those messages get in each other's way: four ranks needed up to 1.6 times as long.
void MpiTransport::all_gatherv_in_rounds(std::span<const std::byte> mine,
                                         std::span<std::byte> all) {
  const auto part_of = [&](int rank) {
    const auto index = static_cast<std::size_t>(rank);
    return all.subspan(static_cast<std::size_t>(displacements_[index]),
                       static_cast<std::size_t>(counts_[index]));
  };
  std::ranges::copy(mine, part_of(rank_).begin());
  for (int round = 1; round < size_; ++round) {
    const int to = (rank_ + round) % size_, from = (rank_ - round + size_) % size_;
    const std::span<std::byte> into = part_of(from);
    send_receive(mine, mine.empty() ? -1 : to, into, into.empty() ? -1 : from);
  }
}

void MpiTransport::gatherv(int root, std::span<const std::byte> mine,
                           std::span<const std::int64_t> sizes, std::span<std::byte> all) {
  const std::int64_t total = lay_out(mine.size(), sizes);
  TW_REQUIRE(rank_ != root || total <= std::ssize(all), "{} bytes into a buffer of {}", total,
             all.size());
  const int count = to_count(std::ssize(mine));
  call(
      kGatherv,
      [&] {
        return MPI_Gatherv(mine.data(), count, MPI_BYTE, all.data(), counts_.data(),
                           displacements_.data(), MPI_BYTE, root, all_.handle());
      },
      [&](MPI_Request* request) {
        return MPI_Igatherv(mine.data(), count, MPI_BYTE, all.data(), counts_.data(),
                            displacements_.data(), MPI_BYTE, root, all_.handle(), request);
      });
}

void MpiTransport::scatterv(int root, std::span<const std::byte> all,
                            std::span<const std::int64_t> sizes, std::span<std::byte> into) {
  const std::int64_t total = lay_out(into.size(), sizes);
  TW_REQUIRE(rank_ != root || total <= std::ssize(all), "{} bytes out of a buffer of {}", total,
             all.size());
  const int count = to_count(std::ssize(into));
  call(
      kScatterv,
      [&] {
        return MPI_Scatterv(all.data(), counts_.data(), displacements_.data(), MPI_BYTE,
                            into.data(), count, MPI_BYTE, root, all_.handle());
      },
      [&](MPI_Request* request) {
        return MPI_Iscatterv(all.data(), counts_.data(), displacements_.data(), MPI_BYTE,
                             into.data(), count, MPI_BYTE, root, all_.handle(), request);
      });
}

void MpiTransport::send_receive(std::span<const std::byte> mine, int to, std::span<std::byte> into,
                                int from) {
  constexpr int kTag = 0;
  const int sent = to_count(std::ssize(mine)), taken = to_count(std::ssize(into));
  MPI_Status status;
  if (!is_polled()) {
    ++calls_[kSendrecv].blocking;
    check_mpi(MPI_Sendrecv(mine.data(), sent, MPI_BYTE, peer(to), kTag, into.data(), taken,
                           MPI_BYTE, peer(from), kTag, all_.handle(), &status),
              "MPI_Sendrecv");
  } else {
    ++calls_[kSendrecv].polled;
    std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    std::array<MPI_Status, 2> statuses{};
    check_mpi(
        MPI_Irecv(into.data(), taken, MPI_BYTE, peer(from), kTag, all_.handle(), &requests[0]),
        "MPI_Irecv");
    check_mpi(MPI_Isend(mine.data(), sent, MPI_BYTE, peer(to), kTag, all_.handle(), &requests[1]),
              "MPI_Isend");
    finish(requests, *may_nap_, statuses.data());
    status = statuses[0];
  }
  int received = 0;
  check_mpi(MPI_Get_count(&status, MPI_BYTE, &received), "MPI_Get_count");
  TW_REQUIRE(from < 0 || received == std::ssize(into), "{} bytes from rank {} into {}", received,
             from, into.size());
}

std::int64_t MpiTransport::lay_out(std::size_t mine, std::span<const std::int64_t> sizes) {
  TW_REQUIRE(sizes.size() == counts_.size() &&
                 sizes[static_cast<std::size_t>(rank_)] == static_cast<std::int64_t>(mine),
             "{} sizes for {} ranks, this one's part is {} bytes", sizes.size(), size_, mine);
  std::int64_t end = 0;
  for (std::size_t peer = 0; peer < counts_.size(); ++peer) {
    counts_[peer] = to_count(sizes[peer]);
    displacements_[peer] = to_count(end);
    end += sizes[peer];
  }
  to_count(end);  // some MPI libraries add the counts up in an int
  return end;
}

std::map<std::string, std::int64_t> MpiTransport::mpi_calls() const {
  std::map<std::string, std::int64_t> calls;
  for (std::size_t function = 0; function < kFunctions; ++function) {
    const auto& [blocking, polled] = calls_[function];
    if (blocking > 0) calls[kNames[function].blocking] = blocking;
    if (polled > 0) calls[kNames[function].polled] = polled;
  }
  return calls;
}

}  // namespace thinwire::fabric
