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

/// The throttled clock: wall time over real MPI, senders paced in real time. A communication thread
/// takes the started collectives in order, so that transfers go on during compute. What it is not:
///  - a payload is delivered whole, when its last bit has left at the link's rate; while that time
///    passes, its bytes move in one collective, whose own time shows only when it is longer;
///  - receivers' ports are not modelled;
///  - one collective is delivered, latency included, before the next one is paced;
///  - collectives are in lock step: who only sends, or neither sends nor receives, waits too, until
///    all bytes have left and arrived.
/// While the thread lives, it alone calls the transports between begin_iteration and end_iteration.
/// A device that an exception ends waits for nobody: its meetings are abandoned, pauses cut short.
class ThrottledFabric final : public Fabric {
 public:
  ThrottledFabric(Transport& all, Transport* devices, FabricOptions options);
  ~ThrottledFabric() override;

 private:
  using Time = Pacer::Time;
  /// The way of one collective; times are set by the communication thread before is_done.
  struct Job {
    Slot* slot = nullptr;
    Time published;
    Time ready;  ///< published, and on a shared medium nobody else sends
    Time send_start, send_end;
    Time met;  ///< all have published (shared: and sent)
    Time done;
    std::exception_ptr error;
    bool is_done = false;
  };

  void on_begin() override;
  void on_compute_start(Phase phase) override;
  void on_compute_end(Phase phase) override;
  void on_start(int slot) override;
  void on_wait(int slot) override;
  void on_mark(Milestone milestone) override;
  void on_end(DeviceIteration& result) override;
  double compute_s() const override { return compute_s_; }

  void communicate();
  void carry(Job& job);
  void tell(Slot& slot);
  void pause_until(Time deadline) const;
  void reserve(Job& job);
  void reserve(Job& job, int to, std::int64_t bytes);
  void send_on_shared_medium(Job& job);
  void account(const Job& job, Time waiting_since, Time waited_until);
  void record(TimelineEvent::Kind kind, const char* name, Time start, Time end);

  Pacer pacer_;
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
