#pragma once
#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "fabric/pacer.hpp"
#include "thinwire/fabric/fabric.hpp"
#include "thinwire/fabric/link_model.hpp"

namespace thinwire::fabric {

/// What the clocks of real time share. A communication thread takes the started collectives in
/// order, so that transfers go on during compute (MPI moves bytes only inside its calls); how it
/// carries one is the derived class's part. While the thread lives, it alone calls the transports
/// between begin_iteration and end_iteration. A device that an exception ends waits for nobody: its
/// meetings are abandoned. Derived classes call stop() in their destructors.
class WallFabric : public Fabric {
 protected:
  using Time = Pacer::Time;
  /// The way of one collective; times are set by the communication thread before is_done.
  struct Job {
    Slot* slot = nullptr;
    Time published;
    Time send_start, send_end;  ///< for the timeline; equal: unknown
    Time met;                   ///< all have published
    Time done;
    std::exception_ptr error;
    bool is_done = false;
  };

  WallFabric(Transport& all, Transport* devices, FabricOptions options);

  /// Meets the other ranks and moves the job's bytes; on the communication thread.
  virtual void carry(Job& job) = 0;
  /// The main thread waits for a job, or goes on.
  virtual void on_awaited(bool /*is_awaited*/) {}
  /// Whether waiting before job.met is skew, which an unlimited link would leave.
  virtual bool knows_skew() const { return true; }
  /// Sizes and receivers; towards the terminal, which was away, also what the link has carried.
  void tell(Slot& slot);
  bool is_stopping() const { return is_stopping_; }
  void stop();

 private:
  void on_begin() override;
  void on_compute_start(Phase phase) override;
  void on_compute_end(Phase phase) override;
  void on_start(int slot) override;
  void on_wait(int slot) override;
  void on_mark(Milestone milestone) override;
  void on_end(DeviceIteration& result) override;
  double compute_s() const override { return compute_s_; }

  void communicate();
  void account(const Job& job, Time waiting_since, Time waited_until);
  void record(TimelineEvent::Kind kind, const char* name, Time start, Time end);

  LinkModel bits_;  // counts what the whole link carries, in the thread; its times are not used
  std::vector<double> no_times_, no_arrivals_;
  double compute_s_ = 0, wait_s_ = 0, hidden_s_ = 0, skew_s_ = 0;
  std::array<double, kMilestones> milestone_s_{};
  Time iteration_start_, compute_start_;

  std::deque<Job> jobs_;  // one a slot; grows at the end only
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Job*> queue_;  // started, not yet taken
  bool is_carrying_ = false;
  std::atomic<bool> is_stopping_ = false;  // set under the mutex
  std::thread thread_;
};

}  // namespace thinwire::fabric
