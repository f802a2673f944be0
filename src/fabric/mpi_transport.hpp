#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "fabric/mpi_handles.hpp"
#include "fabric/node_segment.hpp"
#include "fabric/node_sync.hpp"
#include "fabric/node_telling.hpp"
#include "thinwire/fabric/transport.hpp"

namespace thinwire::fabric {

/// The turn of this node's ranks.
class NodeTurn final : public Turn {
 public:
  explicit NodeTurn(NodeLock& lock) : lock_(lock) {}
  void acquire() override { lock_.lock(); }
  void release() override { lock_.unlock(); }

 private:
  NodeLock& lock_;
};

/// Bytes through MPI collectives, meetings through memory that a node's ranks share.
class MpiTransport final : public Transport {
 public:
  /// `all` and its part `node`, the ranks that share this one's memory (tests may split it further
  /// and so play several hosts on one). Collective over `all`. `turn` outlives the transport.
  MpiTransport(Communicator all, Communicator node, Turn& turn);

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int hosts() const override { return hosts_; }
  int host() const override { return host_; }
  void meet() override;
  void tell(std::span<const std::byte> mine, std::span<std::byte> all) override;
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override;
  void all_gatherv(std::span<const std::byte> mine, std::span<const std::int64_t> sizes,
                   std::span<std::byte> all) override;
  void gatherv(int root, std::span<const std::byte> mine, std::span<const std::int64_t> sizes,
               std::span<std::byte> all) override;
  void scatterv(int root, std::span<const std::byte> all, std::span<const std::int64_t> sizes,
                std::span<std::byte> into) override;
  void send_receive(std::span<const std::byte> mine, int to, std::span<std::byte> into,
                    int from) override;
  Turn& turn() override { return turn_; }
  void set_naps(const std::atomic<bool>* may_nap) override { may_nap_ = may_nap; }
  std::map<std::string, std::int64_t> mpi_calls() const override;
  void abandon() override { is_abandoned_ = true; }

 private:
  enum Function {
    kAllgather,
    kAllgatherv,
    kBarrier,
    kGatherv,
    kScatterv,
    kSendrecv,
    kFunctions,
  };
  struct Calls {
    std::int64_t blocking = 0, polled = 0;
  };

  /// Fills counts_ and displacements_ after checking this rank's part of `mine` bytes; returns the
  /// sum.
  std::int64_t lay_out(std::size_t mine, std::span<const std::int64_t> sizes);
  /// One collective: block(), or start(&request) and looking for its end, as set_naps says.
  template <class Block, class Start>
  void call(Function function, Block block, Start start);
  /// Returns when all requests are complete; naps in between while `may_nap`.
  void finish(std::span<MPI_Request> requests, const std::atomic<bool>& may_nap,
              MPI_Status* statuses = MPI_STATUSES_IGNORE);
  void all_gatherv_in_rounds(std::span<const std::byte> mine, std::span<std::byte> all);
  bool is_polled() const { return hosts_ > 1 && may_nap_ != nullptr; }
  void meet_on_this_host();
  std::chrono::nanoseconds patience() const;
  void meet_other_hosts();

  Communicator all_, node_, leaders_;  // leaders_: the first rank of every host; null on the others
  int rank_, size_, hosts_ = 1, host_ = 0;
  NodeSegment segment_;  // holds the node's telling
  NodeTelling telling_;
  Turn& turn_;
  std::vector<int> counts_, displacements_;
  std::array<Calls, kFunctions> calls_{};
  const std::atomic<bool>* may_nap_ = nullptr;
  std::atomic<bool> is_abandoned_ = false;
};

}  // namespace thinwire::fabric
