#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "thinwire/base/operations.hpp"
#include "thinwire/fabric/link.hpp"
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
};
Clock parse_clock(std::string_view name);  // InputError with the known names
std::string_view to_string(Clock clock);
std::string_view clock_summary(Clock clock);

struct FabricOptions {
  Clock clock = Clock::emulated;
  std::vector<Link> links{Link{}};         ///< settings carried by one execution; throttled: one
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
/// receive buffer is used again or the next iteration begins.
class Delivery {
 public:
  Delivery(std::span<const std::byte> all, std::span<const std::int64_t> sizes)
      : all_(all), sizes_(sizes) {}
  /// Throws Error on a device that receives nothing (a gather's senders).
  std::span<const std::byte> from(int device) const;

 private:
  std::span<const std::byte> all_;
  std::span<const std::int64_t> sizes_;
};

/// One device's iteration under one link setting; compute_s + wait_s is its latency.
struct LinkTimes {
  double compute_s = 0;
  double wait_s = 0;
  double hidden_s = 0;  ///< transfer time that local compute covered
  double skew_s = 0;    ///< waiting that would remain on an unlimited link
};

struct DeviceIteration {
  std::vector<LinkTimes> links;         ///< one a link setting
  std::vector<std::int64_t> link_bits;  ///< carried by the whole link, one a setting
  Operations operations;
  Traffic traffic;
  double wall_s = 0;      ///< from the common start to this device's end
  double eviction_s = 0;  ///< of that, spent on evicting caches (cold_weights)
};

/// A device's only view of time and network. Computing takes a function; waiting does not appear
/// in it, since code that decodes or computes is never handed the fabric.
class Fabric {
 public:
  virtual ~Fabric() = default;

  int device() const { return transport_.rank(); }
  int devices() const { return transport_.size(); }

  /// Meets the others and sets clocks, ports and counters to zero.
  void begin_iteration();
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
  Pending all_gather(const Payload& payload, std::span<std::byte> into);
  /// The same towards `root` alone; the other devices' Delivery is empty. What root contributes
  /// does not leave it and is not counted as traffic.
  Pending gather(int root, const Payload& payload, std::span<std::byte> into);
  Delivery wait(Pending pending);

 protected:
  enum class Kind { all_gather, gather };
  struct Slot {
    Kind kind = Kind::all_gather;
    int root = 0;
    Payload payload;
    std::span<std::byte> into;
    std::vector<std::int64_t> sizes;  // one a device
    std::int64_t order = 0;           // of starting, within the fabric's life
    bool is_busy = false;

    bool is_received_by(int device) const { return kind == Kind::all_gather || root == device; }
    bool is_sent_by(int device) const { return kind == Kind::all_gather || root != device; }
  };

  Fabric(Transport& transport, FabricOptions options);

  /// Fills slot.sizes; all ranks have met.
  void exchange_sizes(Slot& slot);
  /// Moves the slot's bytes; all ranks have met and slot.sizes is known.
  void move_bytes(Slot& slot);
  void report(const char* phase);
  /// Of the latest compute phase.
  int layer() const { return layer_; }

  virtual void on_begin() = 0;
  virtual void on_compute_start(Phase phase) = 0;
  /// Also called while an exception unwinds.
  virtual void on_compute_end(Phase phase) = 0;
  virtual void on_start(int slot) = 0;
  virtual void on_wait(int slot) = 0;
  virtual void on_end(DeviceIteration& result) = 0;

  Transport& transport_;
  FabricOptions options_;
  Operations operations_;
  Traffic traffic_;
  std::deque<Slot> slots_;  // grows at the end only, so that references last
  std::vector<TimelineEvent> timeline_;

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
  Pending start(Kind kind, int root, const Payload& payload, std::span<std::byte> into);
  int free_slot(const std::byte* into);
  void count(const Slot& slot);

  int layer_ = 0;
  std::int64_t started_ = 0, waited_ = 0;
  std::map<std::string, std::int64_t> mpi_calls_at_begin_;
  std::chrono::steady_clock::time_point begin_;
};

/// The fabric of options.clock over `transport`, which must outlive it.
/// Throws InputError when the options do not fit (sizes, a throttled clock with several links, with
/// a slowness, or with a shared medium across hosts).
std::unique_ptr<Fabric> make_fabric(Transport& transport, FabricOptions options);

}  // namespace thinwire::fabric
