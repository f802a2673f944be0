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

/// What the clocks of real time share. When a device computes, a communication thread takes the
/// collectives that it has started, in order, so that transfers go on meanwhile (MPI moves bytes
/// only inside its calls). A collective that is waited for before any compute is carried at once by
/// the thread that waits: handing it over and back would take as long as sending 100 kB. How one is
/// carried is the derived class's part. Of the two, one at a time calls the transports. A device
/// that an exception ends waits for nobody: its meetings are abandoned. Derived classes call stop()
/// in their destructors.
class WallFabric : public Fabric {
 protected:
  using Time = Pacer::Time;
  /// The way of one collective; times are set by who carries it.
  struct Job {
    Slot* slot = nullptr;
    Time published;
    Time send_start, send_end;  ///< for the timeline; equal: unknown
    Time met;                   ///< all have published
    Time done;
    std::exception_ptr error;
    bool is_done = false;  ///< carried by the communication thread
  };

  WallFabric(Transport& all, Transport* devices, FabricOptions options);

  /// Meets the other ranks and moves the job's bytes.
  virtual void carry(Job& job) = 0;
  /// The main thread waits for a job, or goes on.
  virtual void on_awaited(bool /*is_awaited*/) {}
  /// Whether waiting before job.met is skew, which an unlimited link would leave.
  virtual bool knows_skew() const { return true; }
  /// Meets and learns sizes and receivers; towards the terminal, which was away, also what the link
  /// has carried.
  void tell(Slot& slot);
  /// Of the iteration: where its clock is at 0, and its number.
  Time iteration_start() const { return iteration_start_; }
  std::int64_t iteration() const { return iteration_; }
  bool is_stopping() const { return is_stopping_; }
  void stop();

 private:
  void on_begin(std::int64_t iteration) override;
  void on_compute_start(Phase phase) override;
  void on_compute_end(Phase phase) override;
  void on_start(int slot) override;
  void on_wait(int slot) override;
  void on_mark(Milestone milestone) override;
  void on_end(DeviceIteration& result) override;
  double compute_s() const override { return compute_s_; }
  double transfer_s(const Slot& slot) const override;

  void hand_over();
  void carry_and_count(Job& job);
  void communicate();
  void count_bits(const Slot& slot);
  void account(const Job& job, Time waiting_since, Time waited_until);
  void record(TimelineEvent::Kind kind, const char* name, Time start, Time end);

  LinkModel bits_;  // counts what the whole link carries; its times are not used
  std::vector<double> no_times_, no_arrivals_;
  double compute_s_ = 0, wait_s_ = 0, hidden_s_ = 0, skew_s_ = 0;
  std::array<double, kMilestones> milestone_s_{};
  Time iteration_start_, compute_start_;
  std::int64_t iteration_ = 0;

  std::deque<Job> jobs_;    // one a slot; grows at the end only
  std::vector<Job*> kept_;  // started since this device last computed, not in the queue
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Job*> queue_;  // for the thread, not yet taken
  bool is_carrying_ = false;
  std::atomic<bool> is_stopping_ = false;  // set under the mutex
  std::thread thread_;
};

}  // namespace thinwire::fabric
