#pragma once
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thinwire/base/operations.hpp"
#include "thinwire/fabric/link.hpp"
#include "thinwire/fabric/link_model.hpp"
#include "thinwire/fabric/stamps.hpp"
#include "thinwire/fabric/timeline.hpp"
#include "thinwire/fabric/traffic.hpp"
#include "thinwire/fabric/transport.hpp"

namespace thinwire::fabric {

class Watchdog;

/// Whose time a run shows (ACCOUNTING 5).
enum class Clock {
  emulated,   ///< virtual: measured compute, one device at a time; arrivals from the link model
  modelled,   ///< virtual: compute = operations / device rate; deterministic
  throttled,  ///< wall clock: senders are paced in real time
  native,     ///< wall clock: MPI's network as it is
};
/// Time passes by itself: one link setting, and devices that compute at once.
constexpr bool is_wall_clock(Clock clock) {
  return clock == Clock::throttled || clock == Clock::native;
}
Clock parse_clock(std::string_view name);  // InputError with the known names
std::string_view to_string(Clock clock);
std::string_view clock_summary(Clock clock);

struct FabricOptions {
  Clock clock = Clock::emulated;
  std::vector<Link> links{Link{}};         ///< carried by one execution; a wall clock: one
  std::vector<double> slowness;            ///< empty: 1; else one a device (virtual clocks)
  std::vector<double> device_flops_per_s;  ///< modelled: one a device
  bool cold_weights = false;               ///< evict the caches at the start of every turn
  bool record_timeline = false;
  Watchdog* watchdog = nullptr;  ///< told of every compute phase and every wait
};

/// What a device does in a compute call, for the timeline and the watchdog.
struct Phase {
  const char* name = "";
  int layer = 0;
};

/// What a device publishes. Bits that are neither header nor padding are payload.
struct Payload {
  std::span<const std::byte> bytes;
  std::int64_t header_bits = 0;
  std::int64_t padding_bits = 0;
};

/// A started collective, to be waited for exactly once.
class [[nodiscard]] Pending {
 public:
  Pending(Pending&& other) noexcept : slot_(std::exchange(other.slot_, -1)) {}
  Pending& operator=(Pending&& other) noexcept {
    slot_ = std::exchange(other.slot_, -1);
    return *this;
  }

 private:
  friend class Fabric;
  explicit Pending(int slot) : slot_(slot) {}
  int slot_;
};

/// What has arrived: every device's payload, in device order (one's own included). Valid until the
/// receive buffer is used again or the next iteration begins. Where the link drops packets (Loss),
/// the bytes of those are not a sender's: they are kLostByte, and who decodes asks is_missing().
class Delivery {
 public:
  Delivery() = default;  ///< nothing has arrived
  Delivery(std::span<const std::byte> all, std::span<const std::int64_t> sizes)
      : all_(all), sizes_(sizes) {}
  /// Throws Error on a device that receives nothing (a gather's senders).
  std::span<const std::byte> from(int device) const;

  /// Four of them are a NaN, so that reading what has not arrived shows.
  static constexpr std::byte kLostByte{0xff};
  /// Whether packets may be missing, and the receiver goes on without.
  bool is_lossy() const { return link_ != nullptr; }
  /// Of a lossy one.
  OnLoss policy() const { return link_->loss.policy; }
  /// Whether any of the bytes begin .. end - 1 of what `device` has sent was lost. Cost: a hash for
  /// every packet.
  bool is_missing(int device, std::int64_t begin, std::int64_t end) const;
  /// Calls visit(begin, end) for the bytes begin .. end - 1 of each lost packet of what `device`
  /// has sent, in their order. Cost: a hash for every packet.
  template <class Visit>
  void for_each_lost(int device, Visit&& visit) const;

 private:
  friend class Fabric;
  /// Whether it is not certain that all of what `device` has sent is there.
  bool may_miss(int device) const { return link_ != nullptr && device != receiver_; }
  MessageLosses losses_of(int device) const { return {link_->loss, number_, device, receiver_}; }

  std::span<const std::byte> all_;
  std::span<const std::int64_t> sizes_;
  const Link* link_ = nullptr;  // that drops packets
  ExchangeNumber number_;
  int receiver_ = 0;
};

template <class Visit>
void Delivery::for_each_lost(int device, Visit&& visit) const {
  if (!may_miss(device)) return;
  const MessageLosses losses = losses_of(device);
  const std::int64_t size = std::ssize(from(device)), packet_bytes = link_->packet_bytes();
  for (std::int64_t packet = 0; packet * packet_bytes < size; ++packet)
    if (losses.is_lost(packet))
      visit(packet * packet_bytes, std::min(size, (packet + 1) * packet_bytes));
}

/// How an all-gather has travelled, as far as the device that waited for it can know.
struct TransferReport {
  std::int64_t longest_bytes = 0;  ///< of the payloads that came from others; 0: nothing came
  /// From the moment when the last of the others had published (wall clocks: when all had; where
  /// that is not known, when this device had) until all had arrived. Virtual clocks: under the
  /// first link setting.
  double duration_s = 0;
  double window_s = 0;  ///< local compute between publishing and waiting
};

/// Moments of an iteration that reports tell apart.
enum class Milestone {
  distributed,   ///< the device has what the terminal sends it
  first_output,  ///< the first of several inputs has been answered (pipeline)
  computed,      ///< all work is done, collecting by the terminal begins
};
inline constexpr std::size_t kMilestones = 3;

/// One device's iteration under one link setting; compute_s + wait_s is its latency.
struct LinkTimes {
  double compute_s = 0;
  double wait_s = 0;
  double hidden_s = 0;  ///< transfer time that local compute covered
  double skew_s = 0;    ///< waiting that would remain on an unlimited link
  /// When each Milestone was passed; NaN for those that were not.
  std::array<double, kMilestones> milestone_s{kNever, kNever, kNever};

  static constexpr double kNever = std::numeric_limits<double>::quiet_NaN();
};

struct DeviceIteration {
  std::vector<LinkTimes> links;         ///< one a link setting
  std::vector<std::int64_t> link_bits;  ///< carried by the whole link, one a setting
  Operations operations;
  Traffic traffic;
  /// Local compute between publishing and waiting, one a collective in the order of starting.
  std::vector<double> windows_s;
  double wall_s = 0;      ///< from the common start to this device's end
  double eviction_s = 0;  ///< of that, spent on evicting caches (cold_weights)
  /// Packets that were sent again on the whole link, one a setting; empty where none is.
  std::vector<std::int64_t> repeated_packets = {};
  LossCounts losses = {};
};

/// A device's only view of time and network. Computing takes a function; waiting does not appear
/// in it, since code that decodes or computes is never handed the fabric.
class Fabric {
 public:
  virtual ~Fabric() = default;

  int device() const { return all_.rank(); }  ///< devices() on the terminal
  int devices() const {
    return all_.size() - (has_terminal() ? 1 : 0);
  }  ///< P, the terminal not among them
  bool has_terminal() const { return devices_ != &all_; }
  bool is_terminal() const { return device() == devices(); }

  /// Meets the others and sets clocks, ports and counters to zero.
  ///   iteration  the same on all; where a link's trace begins (RateTrace::iteration_start_s), and
  ///              which packets it loses, where they are sent again
  void begin_iteration(std::int64_t iteration = 0);
  /// This device's account of the iteration.
  DeviceIteration end_iteration();
  /// Of the last iteration, when FabricOptions::record_timeline.
  const std::vector<TimelineEvent>& timeline() const { return timeline_; }

  /// Runs f(Operations&) as this device's work and charges the clock.
  template <class F>
  void compute(Phase phase, F&& f) {
    const ComputeScope scope(*this, phase);
    f(operations_);
  }

  /// Starts an all-gather; `payload` must stay as it is until wait(). `into` takes all devices'
  /// payloads, packed in device order, and does not overlap `payload`; sizes may differ and may be
  /// zero. Collectives are waited for in the order in which they were started, the same on all.
  /// `sizes` [device]: the bytes of every device's payload, where all devices know them beforehand
  /// (all or none give them); empty: each learns the others' when they meet, which under the native
  /// clock between hosts is a message of its own. Throws Error, here or in wait(), when a payload
  /// has another size.
  /// `number`: what its losses are drawn for, equal on all devices, where the link drops packets;
  /// collectives without one, and all of the others, arrive whole.
  Pending all_gather(const Payload& payload, std::span<std::byte> into,
                     std::span<const std::int64_t> sizes = {},
                     std::optional<ExchangeNumber> number = {});
  /// The same towards `root` alone; the other devices' Delivery is empty. What root contributes
  /// does not leave it and is not counted as traffic.
  /// root = devices(): the terminal, which takes part with an empty payload.
  Pending gather(int root, const Payload& payload, std::span<std::byte> into);
  /// Every device sends to one device at most (`to`, -1: to none, whatever the payload) and
  /// receives from one at most. Collective over the devices. `into` takes what arrives;
  /// Delivery::from names the sender, and is empty for the others.
  Pending send_receive(const Payload& payload, int to, std::span<std::byte> into);
  /// From the terminal, payloads[p] to device p; the devices pass none, and an `into` of exactly
  /// the size that they are sent. Delivery::from(devices()) is what arrived.
  Pending scatter(std::span<const Payload> payloads, std::span<std::byte> into);
  Delivery wait(Pending pending);
  /// Of the all-gather that was waited for last, in this iteration or an earlier one.
  const TransferReport& last_transfer() const { return last_transfer_; }
  /// The first link setting.
  const Link& link() const { return options_.links.front(); }

  /// Whether the link drops packets (Loss::drops), the same for all link settings.
  bool drops_packets() const { return options_.links.front().loss.drops(); }
  /// Of `rows` that peers have published, `lost` did not arrive.
  void count_lost_rows(std::int64_t rows, std::int64_t lost);

  /// This device passes `milestone` now.
  void mark(Milestone milestone);

 protected:
  enum class Kind { all_gather, gather, send_receive, scatter };
  /// A collective and this rank's part in it. "Ranks" are those that take part: the devices, and
  /// the terminal where includes_terminal().
  struct Slot {
    Kind kind = Kind::all_gather;
    int root = 0;                    // gather: who receives; scatter: who sends
    int to = -1;                     // send_receive: to whom this device sends
    Payload payload;                 // what this rank contributes, except to a scatter
    std::vector<Payload> scattered;  // [device], on the terminal
    std::span<std::byte> into;
    bool knows_sizes = false;
    std::optional<ExchangeNumber> number;  // of an all-gather that losses may meet
    // Known once the ranks have exchanged stamps; sizes perhaps before.
    std::vector<std::int64_t> sizes;    // [rank] bytes it contributes; scatter: that it gets
    std::vector<Message> messages;      // between ranks; none for an all-gather
    std::vector<std::int64_t> arrived;  // [rank] bytes in `into` that came from it
    double window_start_s = 0;
    int index = 0;           // in slots_
    std::int64_t order = 0;  // of starting, within the fabric's life
    bool is_busy = false;
  };

  /// As make_fabric_with_terminal; without a terminal `devices` is &all.
  Fabric(Transport& all, Transport* devices, FabricOptions options);

  bool includes_terminal(const Slot& slot) const {
    return slot.kind == Kind::scatter || (slot.kind == Kind::gather && slot.root == devices());
  }
  Transport& transport_of(const Slot& slot) { return includes_terminal(slot) ? all_ : *devices_; }
  /// Begins stamps_ with what every clock needs; derived classes may add to it.
  void begin_stamp(const Slot& slot);
  /// The slot's ranks meet and exchange stamps_; fills what the slot learns from it.
  void exchange_stamps(Slot& slot);
  /// The same without a meeting, for a slot that knows its sizes.
  void take_known_sizes(Slot& slot);
  /// What `rank` added to its stamp.
  std::span<const double> added_stamp(int rank) const;
  /// Moves the slot's bytes after exchange_stamps().
  void move_bytes(Slot& slot);
  /// Meetings of this rank, on whichever thread, end with an Error.
  void abandon_all();
  void report(const char* phase);
  /// Of the latest compute phase.
  int layer() const { return layer_; }

  virtual void on_begin(std::int64_t iteration) = 0;
  virtual void on_compute_start(Phase phase) = 0;
  /// Also called while an exception unwinds.
  virtual void on_compute_end(Phase phase) = 0;
  virtual void on_start(int slot) = 0;
  virtual void on_wait(int slot) = 0;
  virtual void on_mark(Milestone milestone) = 0;
  virtual void on_end(DeviceIteration& result) = 0;
  /// TransferReport::duration_s of the slot that on_wait() was called for last.
  virtual double transfer_s(const Slot& slot) const = 0;
  /// Compute time of this iteration so far.
  virtual double compute_s() const = 0;

  Transport& all_;
  Transport* devices_;
  FabricOptions options_;
  Operations operations_;
  Traffic traffic_;
  std::deque<Slot> slots_;  // grows at the end only, so that references last
  std::vector<TimelineEvent> timeline_;
  Stamps stamps_;

 private:
  class ComputeScope {
   public:
    ComputeScope(Fabric& fabric, Phase phase) : fabric_(fabric), phase_(phase) {
      fabric_.start_compute(phase_);
    }
    ComputeScope(const ComputeScope&) = delete;
    ~ComputeScope() { fabric_.on_compute_end(phase_); }

   private:
    Fabric& fabric_;
    Phase phase_;
  };
  void start_compute(Phase phase);
  /// A collective of this kind with the fields that all kinds have; start() begins it.
  Slot& prepare(Kind kind, const Payload& payload, std::span<std::byte> into);
  void expect(Slot& slot, std::span<const std::int64_t> sizes) const;
  Pending start(Slot& slot);
  Slot& free_slot(const std::byte* into);
  void count(const Slot& slot);
  void count(const Payload& payload);
  void list_messages(Slot& slot);
  void list_arrivals(Slot& slot);
  bool receives(const Slot& slot) const;
  void report_transfer(const Slot& slot);
  void check_scattered(const Slot& slot) const;
  void scatter_bytes(Slot& slot);
  void send_and_receive_bytes(Slot& slot);
  std::map<std::string, std::int64_t> mpi_calls() const;
  void drop_packets(Delivery& delivery, const Slot& slot);

  int layer_ = 0;
  std::int64_t started_ = 0, waited_ = 0;
  LossCounts losses_;
  TransferReport last_transfer_;
  std::vector<double> windows_s_;
  std::vector<std::byte> packed_;  // what the terminal scatters, in device order
  std::map<std::string, std::int64_t> mpi_calls_at_begin_;
  std::chrono::steady_clock::time_point begin_;
};

/// With a terminal (METHODS 7): `all` joins P devices and the terminal, its last rank; `devices`
/// joins the devices alone and is null on the terminal. Between scatter and gather the terminal
/// sleeps. Per-device options have P values: the terminal computes like device 0 and its end of a
/// transfer is never the slower one.
std::unique_ptr<Fabric> make_fabric_with_terminal(Transport& all, Transport* devices,
                                                  FabricOptions options);

/// The fabric of options.clock over `transport`, which must outlive it.
/// Throws InputError when the options do not fit (sizes, a wall clock with several links, with
/// a slowness, or with a shared medium across hosts).
std::unique_ptr<Fabric> make_fabric(Transport& transport, FabricOptions options);

}  // namespace thinwire::fabric
