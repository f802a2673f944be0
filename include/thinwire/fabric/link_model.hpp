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

/// Bytes from one node to another.
struct Message {
  int from = 0;
  int to = 0;
  std::int64_t bytes = 0;
};

/// The link of ACCOUNTING 4: (ready time of each sender, bytes) -> arrival at each receiver.
/// A plain value, free of MPI: every clock, `predict` and the tests use this one class.
/// Nodes are the devices and, where there is one, the terminal behind them (node `devices`).
/// A link with a trace is at RateTrace::iteration_start_s() when the clocks are at 0.
/// On a link whose lost packets are retransmitted (Loss) a transfer takes as many packets more as
/// are lost, for a broadcast until every receiver has each; the repeats of a message go out behind
/// it in rounds, and a sender learns what a round has lost a round trip (twice the latency) later:
/// arrivals are later by that for every round after the first, while the link is free for others.
/// Draws follow from (Loss::seed, iteration, number of the collective, sender, receiver, packet).
/// Transmitters, ports and the medium keep their state between calls until reset(); earlier
/// collectives come first. A message of zero bytes is not sent: it arrives at 0.
/// Spans have one entry a node that takes part: the devices, or the devices and the terminal.
class LinkModel {
 public:
  /// Throws InputError when the rates are neither one for all nor one a device.
  LinkModel(Link link, int devices, bool has_terminal = false);

  const Link& link() const { return link_; }
  /// All resources free at 0, no bits carried.
  ///   iteration  says where in its trace a changing link begins, and which packets are lost
  void reset(std::int64_t iteration = 0);

  /// Every device sends bytes[p] to every other from ready_s[p] on; the terminal takes no part.
  ///   latest_arrival_s [P]  at each receiver the arrival of its latest peer message, 0 if none
  ///   log  every transfer is appended when not null
  void all_gather(std::span<const double> ready_s, std::span<const std::int64_t> bytes,
                  std::span<double> latest_arrival_s, std::vector<Transfer>* log = nullptr);
  /// Messages between pairs of nodes, each at the rate of its slower end, served by (ready time of
  /// the sender, sender, order in `messages`). Who only sends waits for nothing: 0.
  ///   broadcast  occupies the sender's transmitter
  ///   unicast    occupies the sender's transmitter and the receiver's port
  ///   shared     occupies the medium
  void send(std::span<const double> ready_s, std::span<const Message> messages,
            std::span<double> latest_arrival_s, std::vector<Transfer>* log = nullptr);
  /// send() of bytes[p] from every node but `root` to root.
  void gather(int root, std::span<const double> ready_s, std::span<const std::int64_t> bytes,
              std::span<double> latest_arrival_s, std::vector<Transfer>* log = nullptr);

  /// When the last of `bits` has left that begin to leave at `start_s`: at `rate`, or as the
  /// link's trace says.
  double end_of_transfer_s(std::int64_t bits, double start_s, Rate rate) const;

  /// Bits that the link has carried since reset(), copies and packet headers included.
  std::int64_t link_bits() const { return link_bits_; }

  /// Packets among them that were sent again.
  std::int64_t repeated_packets() const { return repeated_packets_; }

  /// Everything that reset() clears, as state_size() numbers, for a node that was not there when
  /// the link was used. Exact: bits are whole numbers below 2^53.
  std::size_t state_size() const { return 2 * transmitter_free_s_.size() + 4; }
  void save_state(std::span<double> state) const;
  void load_state(std::span<const double> state);

 private:
  struct Queued {
    Message message;
    int position;
  };
  void send_broadcasts(std::span<const double> ready_s, std::span<const std::int64_t> bytes,
                       std::span<double> latest_arrival_s, std::vector<Transfer>* log);
  void send_rounds(std::span<const double> ready_s, std::span<const std::int64_t> bytes,
                   std::span<double> latest_arrival_s, std::vector<Transfer>* log);
  bool is_in_step(std::span<const double> ready_s, std::span<const std::int64_t> bytes) const;
  void send_rounds_in_step(std::span<const double> ready_s, std::span<const std::int64_t> bytes,
                           std::span<double> latest_arrival_s);
  void send_in_turn(std::span<const double> ready_s, std::span<const std::int64_t> bytes,
                    std::span<double> latest_arrival_s, std::vector<Transfer>* log);
  void enqueue(const Message& message);
  void sort_queue(std::span<const double> ready_s);
  void serve_queue(std::span<const double> ready_s, std::span<double> latest_arrival_s,
                   std::vector<Transfer>* log);
  void end_collective(std::int64_t bits_before);
  void serve(const Message& message, std::span<const double> ready_s,
             std::span<double> latest_arrival_s, std::vector<Transfer>* log);
  /// What the losses of a message add to its transfer.
  struct Repeats {
    std::int64_t packets = 0, bytes = 0;  ///< sent again, headers included
    int rounds = 0;                       ///< behind the first
  };
  Repeats repeats_of(const Message& message) const;
  int transmissions(const Message& message, std::int64_t packet) const;
  Transfer occupy(const Message& message, double start_s, Rate rate, std::vector<Transfer>* log);
  int next_device(int device) const { return device + 1 == devices_ ? 0 : device + 1; }
  int nodes() const { return static_cast<int>(transmitter_free_s_.size()); }

  Link link_;
  int devices_;
  std::vector<double> transmitter_free_s_, port_free_s_;  // [node]
  double medium_free_s_ = 0;
  double trace_start_s_ = 0;  // where in the trace the clocks are at 0
  std::int64_t link_bits_ = 0, repeated_packets_ = 0;
  ExchangeNumber number_;      // of the collective that is next
  std::vector<Queued> queue_;  // scratch
  std::vector<int> order_;     // scratch
};

}  // namespace thinwire::fabric
