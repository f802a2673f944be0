#pragma once
#include <array>
#include <chrono>
#include <optional>
#include <vector>

#include "fabric/cache_evictor.hpp"
#include "thinwire/fabric/device_clock.hpp"
#include "thinwire/fabric/fabric.hpp"
#include "thinwire/fabric/link_model.hpp"

namespace thinwire::fabric {

/// The emulated and the modelled clock: every device has one virtual clock a link setting, and
/// arrivals are computed. Behind the settings of the user stand their twins with an unlimited rate
/// and no latency, one a topology; what a device waits for there is skew. The terminal is away
/// between scatter and gather: when it meets the devices, all take over the link as device 0 knows
/// it.
class VirtualFabric final : public Fabric {
 public:
  VirtualFabric(Transport& all, Transport* devices, FabricOptions options);
  ~VirtualFabric() override;

 private:
  struct Entry {
    LinkModel link;
    DeviceClock clock;
    std::array<double, kMilestones> milestone_s;
  };

  void on_begin(std::int64_t iteration) override;
  void on_compute_start(Phase phase) override;
  void on_compute_end(Phase phase) override;
  void on_start(int slot) override;
  void on_wait(int slot) override;
  void on_mark(Milestone milestone) override;
  void on_end(DeviceIteration& result) override;
  double compute_s() const override { return compute_s_; }
  double transfer_s(const Slot& /*slot*/) const override { return transfer_s_; }

  void take_turn(Phase phase);
  void give_turn();
  void charge(double total_s, Phase phase);
  void tell(int slot);
  void arrive(int entry, int slot);
  double transfer_s_of(const Slot& collective) const;
  void record_arrival(int entry, double waiting_since_s);
  void record(TimelineEvent::Kind kind, std::string name, int entry, double start_s, double end_s);
  int user_links() const { return static_cast<int>(options_.links.size()); }
  bool is_recorded(int entry) const { return options_.record_timeline && entry < user_links(); }

  double slowness_ = 1, flops_per_s_ = 0;
  double compute_s_ = 0;
  double transfer_s_ = 0;  // of the collective waited for last, under the first link
  bool is_computing_ = false;
  bool has_turn_ = false;
  std::chrono::steady_clock::time_point compute_start_;
  std::optional<CacheEvictor> evictor_;
  std::chrono::steady_clock::duration eviction_{};
  std::vector<Entry> entries_;                // the user's links, then their unlimited twins
  std::vector<std::size_t> twin_of_;          // [user's link] its twin among entries_
  std::vector<std::vector<double>> ready_s_;  // [slot][entry] when this rank published
  std::vector<double> rank_ready_s_, latest_arrival_s_;  // [rank], of one entry
  std::vector<Transfer> log_;
};

}  // namespace thinwire::fabric
