#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "thinwire/fabric/link.hpp"

namespace thinwire::fabric {

/// One message on the link, for timelines.
struct Transfer {
  int from = 0;
  int to = 0;                     ///< equal to `from` for a broadcast
  double start_s = 0, end_s = 0;  ///< the transmitter is busy in between
  double arrival_s = 0;           ///< end + latency
};

/// The link of ACCOUNTING 4: (ready time and bytes of each sender) -> arrival at each receiver.
/// A plain value, free of MPI: every clock, `predict` and the tests use this one class.
/// Transmitters, ports and the medium keep their state between calls until reset(); earlier
/// collectives come first. A message of zero bytes is not sent: it arrives at 0.
class LinkModel {
 public:
  LinkModel(Link link, int devices);

  const Link& link() const { return link_; }
  /// All resources free at 0, no bits carried.
  void reset();

  /// Every device sends bytes[p] to every other from ready_s[p] on.
  ///   latest_arrival_s [P]  at each receiver the arrival of its latest peer message, 0 if none
  ///   log  every transfer is appended when not null
  void all_gather(std::span<const double> ready_s, std::span<const std::int64_t> bytes,
                  std::span<double> latest_arrival_s, std::vector<Transfer>* log = nullptr);
  /// Every device but `root` sends bytes[p] to root; served by (ready, device).
  /// Senders wait for nothing: their latest_arrival_s is 0.
  void gather(int root, std::span<const double> ready_s, std::span<const std::int64_t> bytes,
              std::span<double> latest_arrival_s, std::vector<Transfer>* log = nullptr);

  /// Bits that the link has carried since reset(), copies included.
  std::int64_t link_bits() const { return link_bits_; }

 private:
  struct Message {
    int from, to, round;
  };
  void send_broadcasts(std::span<const double> ready_s, std::span<const std::int64_t> bytes,
                       std::span<double> latest_arrival_s, std::vector<Transfer>* log);
  void send_copy(const Message& message, double ready_s, std::int64_t bytes,
                 std::span<double> latest_arrival_s, std::vector<Transfer>* log);
  Transfer occupy(int from, int to, double start_s, std::int64_t bytes, Rate rate,
                  std::vector<Transfer>* log);
  void check_sizes(std::size_t ready, std::size_t bytes, std::size_t arrivals) const;
  int devices() const { return static_cast<int>(transmitter_free_s_.size()); }

  Link link_;
  std::vector<double> transmitter_free_s_, port_free_s_;
  double medium_free_s_ = 0;
  std::int64_t link_bits_ = 0;
  std::vector<Message> order_;  // scratch
};

}  // namespace thinwire::fabric
