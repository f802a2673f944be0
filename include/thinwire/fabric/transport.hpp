#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace thinwire::fabric {

/// The right to compute on this node: one device at a time under the emulated clock. Waiting for
/// it sleeps.
class Turn {
 public:
  virtual ~Turn() = default;
  virtual void acquire() = 0;
  virtual void release() = 0;
};

/// Moves bytes between the devices of a run: MPI ranks, or threads of one process. Knows no clocks.
/// All functions are collective over size() ranks and are called in the same order by all.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Nodes that the ranks run on.
  virtual int hosts() const { return 1; }
  /// This rank's node, named by its lowest rank.
  virtual int host() const { return 0; }
  /// Returns when all ranks are here. Sleeps while it waits (never spins inside MPI).
  virtual void meet() = 0;
  /// Meets, and every rank learns what the others came with: equal contributions, all.size() =
  /// size() * mine.size(), in rank order. For a few numbers: on one host without a message.
  virtual void tell(std::span<const std::byte> mine, std::span<std::byte> all) {
    meet();
    all_gather(mine, all);
  }
  /// Equal contributions, all.size() = size() * mine.size(), in rank order. Call after meet().
  virtual void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) = 0;
  /// Contributions of sizes[r] bytes, packed in rank order at the front of `all`. Call after
  /// meet(). Throws Error when a size or the sum exceeds what MPI's int counts carry.
  virtual void all_gatherv(std::span<const std::byte> mine, std::span<const std::int64_t> sizes,
                           std::span<std::byte> all) = 0;
  /// As all_gatherv, received by `root` alone; the others' `all` may be empty.
  virtual void gatherv(int root, std::span<const std::byte> mine,
                       std::span<const std::int64_t> sizes, std::span<std::byte> all) = 0;
  /// The reverse: `root` holds sizes[r] bytes for every rank, packed in rank order in `all` (empty
  /// on the others), and rank r gets them in `into`, which has that size. Call after meet().
  virtual void scatterv(int root, std::span<const std::byte> all,
                        std::span<const std::int64_t> sizes, std::span<std::byte> into) = 0;
  /// Sends `mine` to rank `to` and takes exactly into.size() bytes from rank `from`; -1: no one.
  /// All pairs agree: `from` of a receiver is the rank whose `to` it is. Call after meet().
  virtual void send_receive(std::span<const std::byte> mine, int to, std::span<std::byte> into,
                            int from) = 0;
  /// This node's turn.
  virtual Turn& turn() = 0;
  /// From now on the ranks' waiting is real time: `may_nap` (which must last) says whether the
  /// device computes meanwhile. On one host a meeting of a device that does not looks for the
  /// others for a moment before it sleeps. Where ranks are on several hosts, collectives look for
  /// their end, between naps while `may_nap`, instead of spinning inside MPI, and tell() needs no
  /// meeting. null: as before.
  virtual void set_naps(const std::atomic<bool>* /*may_nap*/) {}
  /// MPI functions called so far, by name; empty where no MPI is involved.
  virtual std::map<std::string, std::int64_t> mpi_calls() const { return {}; }
  /// This rank will not meet the others again: a meeting that it is in, on another thread, throws
  /// Error. Threads of one process tell the others as well, which throw too instead of waiting for
  /// ever; MPI ranks are ended by MpiSession::abort.
  virtual void abandon() {}
};

/// Uncounted, untimed: every rank's bytes at every rank (results, hidden states for inspection).
std::vector<std::vector<std::byte>> gather_all(Transport& transport,
                                               std::span<const std::byte> mine);

/// `size` transports for as many threads of this process, in rank order. A rank that leaves by an
/// exception must call abandon().
std::vector<std::unique_ptr<Transport>> make_local_transports(int size);
inline void abandon(Transport& transport) {
  transport.abandon();
}

/// One device alone: no communication.
std::unique_ptr<Transport> make_solo_transport();

}  // namespace thinwire::fabric
