#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "thinwire/fabric/link_model.hpp"

namespace thinwire::link_shim {

/// What a member brings into a collective, and what it takes out of it: times of the common clock.
struct Entry {
  double ready_s = 0;
  double transmitter_free_s = 0, port_free_s = 0;
  double medium_free_s = 0;  ///< as this member sees it; the latest counts
};

/// The times of one collective: fabric::LinkModel over the messages that it is made of. Free of
/// MPI; every member computes them from the same entries, to the same result. Construct, name the
/// collective once, read the times. P members, numbered as in their communicator.
class CollectiveTimes {
 public:
  /// `link` has one rate for all, or one a member.
  CollectiveTimes(const fabric::Link& link, std::span<const Entry> entries);

  /// Member p sends bytes[p] to every other. A broadcast: only the root has bytes.
  void all_gather(std::span<const std::int64_t> bytes);
  /// P - 1 rounds; in round k member p sends bytes[p * P + q] to q = (p + k) mod P.
  void all_to_all(std::span<const std::int64_t> bytes);
  void gather(int root, std::span<const std::int64_t> bytes);
  /// The root sends bytes[p] to member p, in their order.
  void scatter(int root, std::span<const std::int64_t> bytes);
  /// Around the ring, P - 1 steps: member p ends with the sum of chunk p, of chunks[p] bytes.
  void reduce_scatter(std::span<const std::int64_t> chunks);
  /// fabric::RingAllReduce: 2 (P - 1) steps.
  void all_reduce(std::span<const std::int64_t> chunks);
  /// reduce_scatter(), then the chunks go to the root.
  void reduce(int root, std::span<const std::int64_t> chunks);
  /// Member p passes `bytes` on to p + 1 when those of p - 1 have come.
  void scan(std::int64_t bytes);
  /// An all-gather of nothing: the latency alone.
  void barrier();

  /// The member's state when it goes on: ready_s is when all that it receives has arrived and all
  /// that it sends has left.
  Entry after(int member) const;
  /// Bits on the link, copies included.
  std::int64_t link_bits() const { return model_.link_bits(); }

 private:
  void send(std::span<const fabric::Message> messages);
  /// P - 1 steps; in step s member p passes chunk p + offset - s on to p + 1.
  void pass_around(std::span<const std::int64_t> chunks, int offset);
  void note_step();
  void wait_for_arrivals();
  int members() const { return static_cast<int>(ready_s_.size()); }

  fabric::LinkModel model_;
  std::vector<double> ready_s_, arrival_s_, left_s_;  // [member], the latest so far
  std::vector<double> step_arrival_s_;
  std::vector<fabric::Transfer> step_;
};

/// `count` elements of `element_bytes` in `members` chunks that differ by at most one element, the
/// first ones larger; in bytes.
std::vector<std::int64_t> balanced_chunks(std::int64_t count, std::int64_t element_bytes,
                                          int members);

}  // namespace thinwire::link_shim
